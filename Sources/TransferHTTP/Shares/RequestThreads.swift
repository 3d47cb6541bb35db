import NIOPosix
import PollLoop
import Synchronization

/// The threads that requests run on, one for each processor; clients take turns on them.
///
/// On threads that serve whoever came first, each step of a request would wait behind all steps that
/// a client with many requests has ready.
final class RequestThreads: Sendable {
    static let count = Processors.count

    private struct Job {
        let job: UnownedJob
        let turn: ConnectionTurn
    }

    private let jobs = Mutex(TurnQueue<ConnectionTurn.Owner, Job>())
    private let threads = NIOThreadPool(numberOfThreads: count)

    init() { threads.start() }

    deinit { threads.shutdownGracefully { _ in } }

    func enqueue(_ job: UnownedJob, of turn: ConnectionTurn) {
        jobs.withLock { $0.append(Job(job: job, turn: turn), of: turn.owner) }
        // One call for each job, though not necessarily for this one. A job has to run even when
        // the threads are gone.
        threads.submit { [self] _ in runNext() }
    }

    private func runNext() {
        guard let next = jobs.withLock({ $0.popFirst() }) else { return }
        next.job.runSynchronously(on: next.turn.asUnownedTaskExecutor())
    }
}
