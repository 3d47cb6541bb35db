package import Foundation

/// Decides whether a transfer may reach an address.
///
/// It is asked about the address that is really used: after name resolution and before the
/// connection, and again before each request on a connection kept from an earlier transfer. So a
/// name that resolves to another address later is of no use to an attacker.
///
/// It also decides through which proxy a host is reached. The address used is then the one that the
/// proxy is told, and sockets lead to the proxy alone.
package struct EgressGuard: Sendable {
    private let decide: @Sendable (SocketAddress, UUID?) -> Bool
    private let decideOnHost: @Sendable (String, UUID?) -> Bool
    private let findProxy: @Sendable (String) -> CurlProxy?
    private let onRefusal: @Sendable (String, UUID?) -> Void

    /// Creates a guard from decisions about addresses and about hosts, which must be quick because
    /// they run on the loop's thread.
    package init(allows decide: @escaping @Sendable (SocketAddress) -> Bool) {
        self.init(allowsHost: { _, _ in true }, allows: { address, _ in decide(address) })
    }

    /// Creates a guard that also decides by the group of a request (``CurlRequest/group``), sends
    /// requests for a host through `proxy`, unless that is nil, and tells `onRefusal` the host and
    /// group of each transfer that it has ended.
    package init(
        allowsHost decideOnHost: @escaping @Sendable (String, UUID?) -> Bool,
        allows decide: @escaping @Sendable (SocketAddress, UUID?) -> Bool,
        proxy findProxy: @escaping @Sendable (String) -> CurlProxy? = { _ in nil },
        onRefusal: @escaping @Sendable (String, UUID?) -> Void = { _, _ in }
    ) {
        self.decide = decide
        self.decideOnHost = decideOnHost
        self.findProxy = findProxy
        self.onRefusal = onRefusal
    }

    /// Returns whether the host of a URL may be asked for a group, whatever its address.
    func allows(host: String, for group: UUID?) -> Bool { decideOnHost(host, group) }

    /// Returns whether the address may be reached for a group.
    package func allows(_ address: SocketAddress, for group: UUID?) -> Bool {
        decide(address, group)
    }

    /// Returns the proxy through which a host is reached; nil for none.
    func proxy(for host: String) -> CurlProxy? { findProxy(host) }

    /// Tells that a transfer to a host has ended because of this guard.
    func refused(host: String, for group: UUID?) { onRefusal(host, group) }
}
