package import Foundation

/// What an operator and what workers have decided of a host.
package struct RemoteHost: Sendable {
    /// Host and port.
    package let name: String
    /// Set by an operator; nil for as many as any host may have.
    package let maxConnections: Int?
    /// Given now; nil for all that it may have.
    package let connections: Int?
    /// Whether it cannot be reached, and is only probed.
    package let isClosed: Bool
    package let changedAt: Date
    /// Newest first.
    package let decisions: [Decision]

    /// A change of what a host is given.
    package struct Decision: Sendable {
        package let decidedAt: Date
        package let before: Int
        package let after: Int
        /// A sentence for operators.
        package let reason: String

        package init(decidedAt: Date, before: Int, after: Int, reason: String) {
            self.decidedAt = decidedAt
            self.before = before
            self.after = after
            self.reason = reason
        }
    }

    package init(
        name: String,
        maxConnections: Int?,
        connections: Int?,
        isClosed: Bool,
        changedAt: Date,
        decisions: [Decision] = []
    ) {
        self.name = name
        self.maxConnections = maxConnections
        self.connections = connections
        self.isClosed = isClosed
        self.changedAt = changedAt
        self.decisions = decisions
    }
}

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

/// What is stored of a host that a worker begins to look after.
package struct HostState: Equatable, Sendable {
    /// Set by an operator.
    package let maxConnections: Int?
    /// Given by whoever looked after it before.
    package let connections: Int?

    package init(maxConnections: Int?, connections: Int?) {
        self.maxConnections = maxConnections
        self.connections = connections
    }
}
