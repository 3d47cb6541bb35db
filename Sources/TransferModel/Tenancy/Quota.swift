/// A bound of what a tenant may have, and how high it is.
package struct Quota: Hashable, Sendable {
    /// What is bounded; told to clients.
    package enum Limit: String, CaseIterable, Sendable {
        /// Set by the operator for each tenant; nothing unless set.
        case outstandingTasks = "outstanding_tasks"
        /// Living sessions.
        case sessions
        case clients
        case subscriptions
        case credentials
    }

    package let limit: Limit
    package let maximum: Int64

    package init(_ limit: Limit, maximum: Int64) {
        self.limit = limit
        self.maximum = maximum
    }

    package static let sessionsMax: Int64 = 10_000
    package static let clientsMax: Int64 = 1000
    package static let subscriptionsMax: Int64 = 20_000
    package static let credentialsMax: Int64 = 1000
}
