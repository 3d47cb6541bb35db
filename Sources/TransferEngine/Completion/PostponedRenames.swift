import PollLoop
import Synchronization
import TransferModel

/// The pending renames whose files cannot get their names yet because this machine is short of a
/// resource.
final class PostponedRenames: Sendable {
    /// The pause between two tries.
    private static let interval: Duration = .seconds(1)

    private struct State {
        /// The pending renames by fence, because one that was considered forgotten is submitted
        /// again.
        var pendingRenames: [Fence: PendingRename] = [:]
        var isStopped = false
    }

    private let state = Mutex(State())
    private let arrival = WakeSignal()

    /// Plans another try of these pending renames, unless it was stopped: then they are left to
    /// whichever worker takes them over.
    ///
    /// - Returns: how many more pending renames it holds than before.
    func add(_ pendingRenames: [PendingRename]) -> Int {
        guard !pendingRenames.isEmpty else { return 0 }
        let count = state.withLock { state in
            guard !state.isStopped else { return 0 }
            let before = state.pendingRenames.count
            for pendingRename in pendingRenames {
                state.pendingRenames[pendingRename.fence] = pendingRename
            }
            return state.pendingRenames.count - before
        }
        arrival.signal()
        return count
    }

    /// Waits until pending renames are due for another try; nil when the task is cancelled.
    func next() async -> [PendingRename]? {
        while !Task.isCancelled {
            await arrival.wait()
            do { try await Task.sleep(for: Self.interval.jittered) } catch { return nil }
            let pendingRenames = state.withLock { state in
                defer { state.pendingRenames = [:] }
                return Array(state.pendingRenames.values)
            }
            if !pendingRenames.isEmpty { return pendingRenames }
        }
        return nil
    }

    /// Stops accepting pending renames.
    ///
    /// - Returns: the number of pending renames that were waiting.
    func stop() -> Int {
        state.withLock { state in
            defer { state = State(isStopped: true) }
            return state.pendingRenames.count
        }
    }
}
