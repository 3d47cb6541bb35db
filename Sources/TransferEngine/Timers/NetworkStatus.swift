import Synchronization

/// Whether this instance can reach the network, as its last probe found; true without any, and
/// false until the first one has an answer.
final class NetworkStatus: Sendable {
    private let isProbed: Bool
    private let found = Mutex<Bool?>(nil)

    init(isProbed: Bool) { self.isProbed = isProbed }

    var isReachable: Bool { found.withLock(\.self) ?? !isProbed }

    /// Notes what a probe has found.
    ///
    /// - Returns: what the one before had found; nil if this is the first.
    func note(isReachable: Bool) -> Bool? {
        found.withLock { found in
            let before = found
            found = isReachable
            return before
        }
    }
}
