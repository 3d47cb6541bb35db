/// What a worker has decided of a host, to be stored.
package struct HostChange: Sendable {
    package let lane: Lane
    package let name: String
    package let decision: RemoteHost.Decision
    /// Given when it is not closed; nil for all that it may have.
    package let connections: Int?
    package let isClosed: Bool
    /// Whose tasks it concerns.
    package let tenants: [TenantID]

    package init(
        lane: Lane,
        name: String,
        decision: RemoteHost.Decision,
        connections: Int?,
        isClosed: Bool,
        tenants: [TenantID]
    ) {
        self.lane = lane
        self.name = name
        self.decision = decision
        self.connections = connections
        self.isClosed = isClosed
        self.tenants = tenants
    }
}
