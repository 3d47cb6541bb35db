/// Sends the files of uploads to the service, a few at once.
final class BodyQueue: Sendable {
    /// The most files that are sent at once.
    private static let sendersMax = 4

    private struct State {
        var waiting: [TransferTask] = []
        var senders = 0
    }

    private let state = Watched(State())

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

    /// Waits until all files have been sent, or will not be.
    ///
    /// - Throws: ``TransferError`` with the code `cancelled` when the caller is cancelled before.
    func drain() async throws(TransferError) { try await state.wait { $0.senders > 0 } }

    /// Takes the next upload; without one, the sender ends.
    private func next() -> TransferTask? {
        state.change { state in
            guard !state.waiting.isEmpty else {
                state.senders -= 1
                return nil
            }
            return state.waiting.removeFirst()
        }
    }

    private func send(_ task: TransferTask) async {
        guard let file = task.stagedFile, task.state != .completed else { return }
        let failure = await withTaskGroup(of: TransferError?.self) { group in
            group.addTask {
                do throws(TransferError) {
                    try await task.sendBody(fromFile: file)
                    return nil
                } catch {
                    return error
                }
            }
            group.addTask {
                do throws(TransferError) {
                    _ = try await task.result()
                } catch {
                    // Nobody needs the bytes of a task that has ended, as by `cancel()`.
                }
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        // When the session has ended, the task may be another process's.
        guard let failure, task.state != .completed else { return }
        await task.session.abandon(task, failure)
    }
}
