/// The way of a transfer through a proxy, to addresses of its host that the guard has allowed.
///
/// The guard cannot look at the socket, which leads to the proxy. So the host's name is resolved
/// here, each address is judged, and the proxy is told an address and not the name, which it might
/// resolve to another one.
struct ProxyRoute {
    /// The most addresses of a host that are tried, one after the other.
    private static let targetsMax = 8

    let proxy: CurlProxy
    /// The addresses to which a socket may lead.
    private let ends: Set<SocketAddress>
    /// The address of the host to which the tunnel leads.
    let target: SocketAddress
    /// The host's other addresses, for when the proxy cannot reach this one.
    let others: [SocketAddress]
    /// Whether an address of the host may not be reached.
    let isAddressDenied: Bool

    /// Judges `addresses`, those of the request's host; nil if none may be reached.
    init?(
        through proxy: CurlProxy,
        at proxyAddresses: [String],
        to addresses: [String],
        of url: CurlURL,
        for request: CurlRequest
    ) {
        guard request.egress.allows(host: url.host, for: request.group) else { return nil }
        let all = addresses.compactMap { SocketAddress(text: $0, port: url.port) }
        let allowed = all.filter { request.egress.allows($0, for: request.group) }
        let targets = allowed.prefix(Self.targetsMax)
        guard let target = targets.first else { return nil }
        isAddressDenied = allowed.count < all.count
        self.proxy = proxy
        self.target = target
        others = Array(targets.dropFirst())
        ends = Set(proxyAddresses.compactMap { SocketAddress(text: $0, port: proxy.url.port) })
    }

    /// Returns whether a socket that leads to `peer` leads to the proxy.
    func leads(through peer: SocketAddress) -> Bool { ends.contains(peer) }
}
