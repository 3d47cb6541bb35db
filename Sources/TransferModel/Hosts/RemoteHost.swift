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
