import Synchronization

/// Sends the files of uploads to the service, a few at once.
final class BodyQueue: Sendable {
    /// The most files that are sent at once.
    private static let sendersMax = 4

    private struct State {
        var waiting: [TransferTask] = []
        var senders = 0
    }

    private let state = Mutex(State())

    /// Adds an upload that the service has accepted.
    func add(_ task: TransferTask) {
        let mustStart = state.withLock { state in
            state.waiting.append(task)
            guard state.senders < Self.sendersMax else { return false }
            state.senders += 1
            return true
        }
        guard mustStart else { return }
        // Nobody awaits the bytes: the task ends with the reason why they do not arrive.
        Task { while let task = next() { await send(task) } }
    }

    /// Takes the next upload; without one, the sender ends.
    private func next() -> TransferTask? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.senders -= 1
                return nil
            }
            return state.waiting.removeFirst()
        }
    }

    private func send(_ task: TransferTask) async {
        guard let file = task.stagedFile else { return }
        do throws(TransferError) {
            try await task.sendBody(fromFile: file)
        } catch {
            await task.session.abandon(task, error)
        }
    }
}
