import Synchronization
import TransferModel

/// The attempts this worker is running, and the slots they take.
final class ActiveDownloads: Sendable {
    private struct State {
        var downloads: [Fence: Download] = [:]
        var perLane: [Lane: Int] = [:]
        /// What was stored of each attempt's progress.
        var stored: [Fence: Int64] = [:]
        var isClosed = false
    }

    private let state = Mutex(State())

    /// How many attempts are running.
    var count: Int { state.withLock { $0.downloads.count } }

    /// How many connections each busy host has.
    var busy: [Lane: Int] { state.withLock { $0.perLane } }

    /// Whether the attempt with that fence is running.
    func contains(_ fence: Fence) -> Bool { state.withLock { $0.downloads[fence] != nil } }

    /// Takes a slot.
    ///
    /// - Returns: false when the worker is stopping and the attempt must be given back.
    func insert(_ download: Download) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.downloads[download.claim.fence] = download
            state.perLane[download.claim.lane, default: 0] += 1
            return true
        }
    }

    /// Frees the slot of an ended attempt.
    func remove(_ claim: TaskClaim) {
        state.withLock { state in
            guard state.downloads.removeValue(forKey: claim.fence) != nil else { return }
            state.stored[claim.fence] = nil
            let rest = (state.perLane[claim.lane] ?? 1) - 1
            state.perLane[claim.lane] = rest > 0 ? rest : nil
        }
    }

    /// The attempts with these fences.
    func downloads(_ fences: [Fence]) -> [Download] {
        state.withLock { state in fences.compactMap { state.downloads[$0] } }
    }

    /// All attempts; with `closing` no further one is let in.
    func all(closing: Bool) -> [Download] {
        state.withLock { state in
            if closing { state.isClosed = true }
            return Array(state.downloads.values)
        }
    }

    /// The attempts that have moved since the last call.
    func takeProgress() -> [(task: TaskID, fence: Fence, received: Int64, expected: Int64?)] {
        state.withLock { state in
            state.downloads.values.compactMap { download in
                let progress = download.progress
                let fence = download.claim.fence
                guard progress.received != state.stored[fence] ?? 0 else { return nil }
                state.stored[fence] = progress.received
                return (download.claim.task, fence, progress.received, progress.expected)
            }
        }
    }
}
