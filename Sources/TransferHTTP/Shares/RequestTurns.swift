import NIOCore
import Synchronization
import TransferModel

/// The steps of the requests on the connections of one event loop, on which clients take turns.
///
/// They run on that loop's thread, so that a request changes threads only where it waits for the
/// database. On a loop that served whoever came first, each step of a request would wait behind all
/// steps that a client with many requests has ready.
final class RequestTurns: Sendable {
    private struct Step {
        let job: UnownedJob
        let turn: ConnectionTurn
    }

    private let loop: any EventLoop
    private let steps = Mutex(TurnQueue<ConnectionTurn.Owner, Step>())

    /// Creates the turns on `loop`, which must not be shut down while there are steps.
    init(on loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: UnownedJob, of turn: ConnectionTurn) {
        steps.withLock { $0.append(Step(job: job, turn: turn), of: turn.owner) }
        // One call for each step, though not necessarily for this one.
        loop.execute { [self] in runNext() }
    }

    private func runNext() {
        guard let next = steps.withLock({ $0.popFirst() }) else { return }
        next.job.runSynchronously(on: next.turn.asUnownedTaskExecutor())
    }
}
