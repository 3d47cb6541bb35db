/// A bound on what a tenant may have.
package struct Quota: Hashable, Sendable {
    /// The thing that is bounded; named to clients.
    package enum Limit: String, CaseIterable, Sendable {
        /// The tasks that have not ended; set by the operator for each tenant, and unbounded unless
        /// set.
        case outstandingTasks = "outstanding_tasks"
        /// The bytes of results, of bodies for uploads and of kept parts; set by the operator for
        /// each tenant, and unbounded unless set.
        case storedBytes = "stored_bytes"
        /// The sessions that have not ended.
        case sessions
        case clients
        case subscriptions
        case credentials
        /// The API keys, with those that ended lately.
        case keys
        /// The bulk operations, with those that ended within a day.
        case bulkOperations = "bulk_operations"
        /// The assertions that one client holds.
        case assertions
        /// The handlers of background tasks that one client has registered.
        case handlers
        /// The transfers that are linked to one run.
        case runTransfers = "run_transfers"
        /// The pauses by which the tenant has paused itself.
        case pauses
    }

    package let limit: Limit
    /// The most that the tenant may have.
    package let maximum: Int64

    package init(_ limit: Limit, maximum: Int64) {
        self.limit = limit
        self.maximum = maximum
    }

    /// The most living sessions of a tenant.
    package static let sessionsMax: Int64 = 10_000
    /// The most clients of a tenant.
    package static let clientsMax: Int64 = 1000
    /// The most subscriptions of a tenant.
    package static let subscriptionsMax: Int64 = 20_000
    /// The most credentials of a tenant.
    package static let credentialsMax: Int64 = 1000
    /// The most API keys of a tenant, with those that ended lately.
    package static let keysMax: Int64 = 1000
    /// The most bulk operations of a tenant, with those that ended within a day.
    package static let bulkOperationsMax: Int64 = 1000
    /// The most assertions that a client holds.
    package static let assertionsMax: Int64 = 100
    /// The most handlers of background tasks that a client registers.
    package static let handlersMax: Int64 = 100
    /// The most pauses by which a tenant pauses itself: each worker reads all pauses once a second.
    package static let pausesMax: Int64 = 100
}
