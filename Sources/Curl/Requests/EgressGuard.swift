/// Decides whether a transfer may reach an address.
///
/// It is asked about the address that is really used: after name resolution and before the
/// connection, and again before each request on a connection kept from an earlier transfer. So a
/// name that resolves to another address later is of no use to an attacker.
package struct EgressGuard: Sendable {
    private let decide: @Sendable (SocketAddress) -> Bool
    private let decideOnHost: @Sendable (String) -> Bool

    /// Creates a guard from decisions about addresses and about hosts, which must be quick because
    /// they run on the loop's thread.
    package init(
        allowsHost decideOnHost: @escaping @Sendable (String) -> Bool = { _ in true },
        allows decide: @escaping @Sendable (SocketAddress) -> Bool
    ) {
        self.decide = decide
        self.decideOnHost = decideOnHost
    }

    /// Returns whether the host of a URL may be asked, whatever its address.
    func allows(host: String) -> Bool { decideOnHost(host) }

    /// Returns whether the address may be reached.
    package func allows(_ address: SocketAddress) -> Bool { decide(address) }
}
