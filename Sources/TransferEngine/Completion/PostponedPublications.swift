import Synchronization
import TransferModel

/// Publications whose files cannot have their names yet, because this machine is short of something.
final class PostponedPublications: Sendable {
    /// Between two tries.
    private static let interval: Duration = .seconds(1)

    private struct State {
        /// By fence, for one that was taken for forgotten is brought again.
        var publications: [Fence: Publication] = [:]
        var isStopped = false
    }

    private let state = Mutex(State())
    private let arrival = WakeSignal()

    /// Has these tried again later, unless it was stopped: then they are left to whoever takes them
    /// over.
    ///
    /// - Returns: how many it holds more than before.
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

    /// Waits until some are to be tried again; nil when the task is cancelled.
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

    /// Takes no more.
    ///
    /// - Returns: how many were waiting.
    func stop() -> Int {
        state.withLock { state in
            defer { state = State(isStopped: true) }
            return state.publications.count
        }
    }
}
