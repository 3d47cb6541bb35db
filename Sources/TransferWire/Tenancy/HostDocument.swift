/// What was decided of a host.
package struct HostDocument: Codable, Sendable {
    /// Host and port.
    package let host: String
    /// `open` or `closed`.
    package let state: String
    /// Given now; nil for all that it may have, and while it is closed.
    package let connections: Int?
    /// Set by an operator; nil for as many as any host may have.
    package let maxConnections: Int?
    package let changedAt: Timestamp
    /// Newest first; nil in lists.
    package let decisions: [Decision]?

    package init(
        host: String,
        state: String,
        connections: Int?,
        maxConnections: Int?,
        changedAt: Timestamp,
        decisions: [Decision]?
    ) {
        self.host = host
        self.state = state
        self.connections = connections
        self.maxConnections = maxConnections
        self.changedAt = changedAt
        self.decisions = decisions
    }

    private enum CodingKeys: String, CodingKey {
        case host, state, connections, decisions
        case maxConnections = "max_connections"
        case changedAt = "changed_at"
    }

    /// A change, and why.
    package struct Decision: Codable, Sendable {
        package let decidedAt: Timestamp
        package let connectionsBefore: Int
        package let connectionsAfter: Int
        package let reason: String

        package init(
            decidedAt: Timestamp,
            connectionsBefore: Int,
            connectionsAfter: Int,
            reason: String
        ) {
            self.decidedAt = decidedAt
            self.connectionsBefore = connectionsBefore
            self.connectionsAfter = connectionsAfter
            self.reason = reason
        }

        private enum CodingKeys: String, CodingKey {
            case reason
            case decidedAt = "decided_at"
            case connectionsBefore = "connections_before"
            case connectionsAfter = "connections_after"
        }
    }
}
