/// The decisions about a host.
package struct HostDocument: Codable, Sendable {
    /// The host and port.
    package let host: String
    /// The state: `open` or `closed`.
    package let state: String
    /// The number of connections given now; nil for all that the host may have, and while it is
    /// closed.
    package let connections: Int?
    /// The maximum set by an operator; nil for as many as any host may have.
    package let maxConnections: Int?
    /// The time of the last change.
    package let changedAt: Timestamp
    /// The decisions, newest first; nil in lists.
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

    /// A change, with its reason.
    package struct Decision: Codable, Sendable {
        /// The time of the decision.
        package let decidedAt: Timestamp
        /// The number of connections before the decision.
        package let connectionsBefore: Int
        /// The number of connections after the decision; 0 if the host was closed.
        package let connectionsAfter: Int
        /// The reason as a sentence for people.
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
