import Synchronization

/// Whether this instance can reach the network, as its last probe found.
final class NetworkStatus: Sendable {
    private let reachable = Atomic(true)

    var isReachable: Bool { reachable.load(ordering: .acquiring) }

    /// Notes what a probe has found.
    ///
    /// - Returns: whether the network can be reached again.
    func note(isReachable: Bool) -> Bool {
        !reachable.exchange(isReachable, ordering: .acquiringAndReleasing) && isReachable
    }
}
