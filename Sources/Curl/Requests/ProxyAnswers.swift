import Synchronization

/// The times at which proxies have last answered a request for a tunnel, whosesoever that was.
///
/// A proxy that answers nobody is away; one that answers others may be silent because it waits for
/// the host.
final class ProxyAnswers: Sendable {
    /// Those to the transfers of all loops, which have the same proxies.
    static let ofAllLoops = ProxyAnswers()

    private let latest = Mutex<[String: ContinuousClock.Instant]>([:])

    /// Records that a proxy has answered.
    func note(_ proxy: CurlProxy, at now: ContinuousClock.Instant) {
        latest.withLock { $0[proxy.address] = now }
    }

    /// Returns whether a proxy has answered at this time or later.
    func hasAnswered(_ proxy: CurlProxy, since start: ContinuousClock.Instant) -> Bool {
        latest.withLock { $0[proxy.address].map { $0 >= start } ?? false }
    }
}
