/// The decisions about a host.
public struct HostDocument: Codable, Sendable {
    /// The host and port.
    public let host: String
    /// The state: `open` or `closed`.
    public let state: String
    /// The number of connections given now; nil for all that the host may have, and while it is
    /// closed.
    public let connections: Int?
    /// The maximum set by an operator; nil for as many as any host may have.
    public let maxConnections: Int?
    /// The time of the last change.
    public let changedAt: Timestamp
    /// The decisions, newest first; nil in lists.
    public let decisions: [Decision]?

    /// Creates the value from its parts.
    public init(
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
    public struct Decision: Codable, Sendable {
        /// The time of the decision.
        public let decidedAt: Timestamp
        /// The number of connections before the decision.
        public let connectionsBefore: Int
        /// The number of connections after the decision; 0 if the host was closed.
        public let connectionsAfter: Int
        /// The reason as a sentence for people.
        public let reason: String

        /// Creates the value from its parts.
        public init(
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
