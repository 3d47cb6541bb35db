/// A worker's decision about a host, to be stored.
package struct HostChange: Sendable {
    package let hostKey: HostKey
    package let name: String
    package let decision: RemoteHost.Decision
    /// The connections given to the host when it is not closed; nil for all that it may have.
    package let connections: Int?
    /// Whether the host cannot be reached, and is only probed.
    package let isClosed: Bool
    /// The tenants whose tasks it concerns.
    package let tenants: [TenantID]

    package init(
        hostKey: HostKey,
        name: String,
        decision: RemoteHost.Decision,
        connections: Int?,
        isClosed: Bool,
        tenants: [TenantID]
    ) {
        self.hostKey = hostKey
        self.name = name
        self.decision = decision
        self.connections = connections
        self.isClosed = isClosed
        self.tenants = tenants
    }
}
