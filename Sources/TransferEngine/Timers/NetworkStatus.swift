import Synchronization

/// Whether this instance can reach the network, as its last probe found; true without any.
final class NetworkStatus: Sendable {
    private let reachable = Atomic(true)

    var isReachable: Bool { reachable.load(ordering: .acquiring) }

    /// Notes what a probe has found.
    ///
    /// - Returns: what the one before had found.
    func note(isReachable: Bool) -> Bool {
        reachable.exchange(isReachable, ordering: .acquiringAndReleasing)
    }
}
