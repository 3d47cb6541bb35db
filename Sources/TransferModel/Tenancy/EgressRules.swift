/// Where the requests of one tenant may go, within what ``EgressPolicy`` allows.
package struct EgressRules: Equatable, Sendable {
    /// The only networks that are reached; empty for all.
    package var allowedNetworks: [EgressPolicy.Network] = []
    /// The networks that are never reached.
    package var deniedNetworks: [EgressPolicy.Network] = []
    /// The only hosts that are asked, in the form of ``EgressPolicy/deniedHosts``; empty for all.
    package var allowedHosts: [String] = []
    /// The hosts that are never asked.
    package var deniedHosts: [String] = []
    /// The only ports that are reached; empty for all.
    package var ports: Set<UInt16> = []
    /// Whether nothing is reached, because the rules are in a form that this program cannot read.
    package var denyEverything = false

    /// The most entries of each kind.
    package static let countMax = 256

    package init() {}

    /// Whether the tenant may reach whatever the service may.
    package var isEmpty: Bool { self == EgressRules() }

    /// Returns whether a request may be sent to `host`.
    package func allows(host: String) -> Bool {
        !denyEverything && (allowedHosts.isEmpty || EgressPolicy.names(host, in: allowedHosts))
            && !EgressPolicy.names(host, in: deniedHosts)
    }

    /// Returns whether a connection may be made to a port of `address`, as `policy` sees it.
    package func allows(_ address: [UInt8], port: UInt16, as policy: EgressPolicy) -> Bool {
        guard !denyEverything, ports.isEmpty || ports.contains(port) else { return false }
        let forms = policy.forms(of: address)
        if deniedNetworks.contains(where: { forms.contains(where: $0.contains) }) { return false }
        let address = policy.innerIPv4(of: address) ?? address
        return allowedNetworks.isEmpty || allowedNetworks.contains { $0.contains(address) }
    }
}
