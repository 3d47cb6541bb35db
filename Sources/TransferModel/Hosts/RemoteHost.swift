package import Foundation

/// The decisions of an operator and of workers about a host.
package struct RemoteHost: Sendable {
    /// The host and port.
    package let name: String
    /// The bound that an operator set; nil for as many connections as any host may have.
    package let maxConnections: Int?
    /// The connections given to the host now; nil for all that it may have.
    package let connections: Int?
    /// Whether the host cannot be reached, and is only probed.
    package let isClosed: Bool
    package let changedAt: Date
    /// The decisions, from the newest.
    package let decisions: [Decision]

    /// A change of the connections given to a host.
    package struct Decision: Sendable {
        /// The time of the decision.
        package let decidedAt: Date
        /// The connections given before the decision.
        package let before: Int
        /// The connections given after the decision.
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
