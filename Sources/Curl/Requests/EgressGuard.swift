/// Decides whether a transfer may reach an address.
///
/// It is asked with the address that is really used: after name resolution and before the
/// connection, and again before each request on a connection that is kept from an earlier
/// transfer. A name that resolves to something else later is therefore of no use to an attacker.
package struct EgressGuard: Sendable {
    private let decide: @Sendable (SocketAddress) -> Bool

    /// Creates a guard from a decision that is quick, for it runs on the loop's thread.
    package init(allows decide: @escaping @Sendable (SocketAddress) -> Bool) {
        self.decide = decide
    }

    /// Whether the address may be reached.
    package func allows(_ address: SocketAddress) -> Bool { decide(address) }
}
