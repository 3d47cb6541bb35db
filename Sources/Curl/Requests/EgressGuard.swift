/// Decides whether a transfer may reach an address.
///
/// It is asked about the address that is really used: after name resolution and before the
/// connection, and again before each request on a connection kept from an earlier transfer. So a
/// name that resolves to another address later is of no use to an attacker.
package struct EgressGuard: Sendable {
    private let decide: @Sendable (SocketAddress) -> Bool

    /// Creates a guard from a decision, which must be quick because it runs on the loop's thread.
    package init(allows decide: @escaping @Sendable (SocketAddress) -> Bool) {
        self.decide = decide
    }

    /// Returns whether the address may be reached.
    package func allows(_ address: SocketAddress) -> Bool { decide(address) }
}
