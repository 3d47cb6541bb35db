/// A transfer before it starts, with the addresses that are known so far.
struct TransferStart {
    var request: CurlRequest
    let url: CurlURL
    /// The proxy through which the host is reached; nil for none.
    let proxy: CurlProxy?
    let sink: any CurlSink
    let since: ContinuousClock.Instant
    /// The time until which it may wait for names.
    var deadline: ContinuousClock.Instant
    /// The host's addresses; nil before they are known.
    private(set) var addresses: [String]?
    /// The proxy's addresses; nil before they are known.
    private(set) var proxyAddresses: [String]?
    /// Whether the guard has denied an address of the host on a route before this one.
    private(set) var isAddressDenied = false
    /// Whether it gets a connection of its own, and none that was kept.
    private(set) var isFresh: Bool

    init(
        _ request: CurlRequest,
        url: CurlURL,
        sink: any CurlSink,
        at now: ContinuousClock.Instant
    ) {
        self.request = request
        self.url = url
        self.sink = sink
        since = now
        proxy = request.egress.proxy(for: url.host)
        let bounds = [request.connectTimeout, request.inactivityTimeout, request.totalTimeout]
        deadline = now + (bounds.compactMap(\.self).min() ?? request.connectTimeout)
        addresses = url.ownAddresses
        // On a kept connection that turns out to be dead, libcurl 7.88 sends even a POST again.
        isFresh = !request.isReplayable
        proxyAddresses = proxy?.url.ownAddresses
    }

    /// The name whose addresses are needed next: the host's, then the proxy's; nil if none is.
    var missingName: String? {
        if addresses == nil { return url.nameToResolve }
        return isProxyMissing ? proxy?.url.nameToResolve : nil
    }

    /// Whether the name that is missing is that of the proxy.
    var isProxyMissing: Bool { addresses != nil && proxy != nil && proxyAddresses == nil }

    /// Adds the addresses of the name that was missing.
    mutating func add(_ found: [String]) {
        if addresses == nil { addresses = found } else { proxyAddresses = found }
    }

    /// Returns the way through the proxy; nil without one.
    ///
    /// - Throws: ``CurlError`` with `egressDenied` if no address of the host may be reached.
    func route() throws(CurlError) -> ProxyRoute? {
        guard let proxy else { return nil }
        let route = ProxyRoute(
            through: proxy,
            at: proxyAddresses ?? [],
            to: addresses ?? [],
            of: url,
            for: request
        )
        guard let route else {
            request.egress.refused(host: url.host, for: request.group)
            throw failure(.egressDenied)
        }
        return route
    }

    /// Returns the same start, to the addresses of the host that a route has not tried.
    func going(past route: ProxyRoute) -> TransferStart {
        var start = self
        start.addresses = route.others.map(\.text)
        start.isAddressDenied = isAddressDenied || route.isAddressDenied
        return start
    }

    /// The same start, on a connection of its own.
    var onFreshConnection: TransferStart {
        var start = self
        start.isFresh = true
        return start
    }

    /// Returns the failure of a transfer that has not begun.
    func failure(_ code: CurlError.Code) -> CurlError {
        var summary = CurlSummary()
        summary.timings.total = .now - since
        // A name of a proxy that nobody answers for is no fault of the host.
        let isProxySilent =
            isProxyMissing && code == .timedOut(.connect)
            && summary.timings.total >= request.connectTimeout
        return CurlError(isProxySilent ? .proxyUnreachable : code, summary: summary)
    }
}
