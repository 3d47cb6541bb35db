import Synchronization
import TransferModel

/// The publications whose files cannot get their names yet because this machine is short of a
/// resource.
final class PostponedPublications: Sendable {
    /// The pause between two tries.
    private static let interval: Duration = .seconds(1)

    private struct State {
        /// The publications by fence, because one that was considered forgotten is submitted again.
        var publications: [Fence: Publication] = [:]
        var isStopped = false
    }

    private let state = Mutex(State())
    private let arrival = WakeSignal()

    /// Plans another try of these publications, unless it was stopped: then they are left to
    /// whichever worker takes them over.
    ///
    /// - Returns: how many more publications it holds than before.
    func add(_ publications: [Publication]) -> Int {
        guard !publications.isEmpty else { return 0 }
        let count = state.withLock { state in
            guard !state.isStopped else { return 0 }
            let before = state.publications.count
            for publication in publications { state.publications[publication.fence] = publication }
            return state.publications.count - before
        }
        arrival.signal()
        return count
    }

    /// Waits until publications are due for another try; nil when the task is cancelled.
    func next() async -> [Publication]? {
        while !Task.isCancelled {
            await arrival.wait()
            do { try await Task.sleep(for: Self.interval.jittered) } catch { return nil }
            let publications = state.withLock { state in
                defer { state.publications = [:] }
                return Array(state.publications.values)
            }
            if !publications.isEmpty { return publications }
        }
        return nil
    }

    /// Stops accepting publications.
    ///
    /// - Returns: the number of publications that were waiting.
    func stop() -> Int {
        state.withLock { state in
            defer { state = State(isStopped: true) }
            return state.publications.count
        }
    }
}
