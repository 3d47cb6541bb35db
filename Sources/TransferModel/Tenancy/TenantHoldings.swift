/// What a tenant owns, as an operator is told before it is removed.
package struct TenantHoldings: Equatable, Sendable {
    /// The number of sessions, living or ended.
    package let sessions: Int64
    /// The number of tasks, outstanding or ended.
    package let tasks: Int64
    /// The number of tasks that have not ended.
    package let outstandingTasks: Int64
    /// The bytes of results, of bodies brought for uploads, and of kept parts.
    package let storedBytes: Int64
    /// The number of subscriptions that were not deleted.
    package let subscriptions: Int64
    /// The number of clients.
    package let clients: Int64
    /// The number of named credentials.
    package let credentials: Int64
    /// The number of keys, good or not.
    package let keys: Int64

    package init(
        sessions: Int64,
        tasks: Int64,
        outstandingTasks: Int64,
        storedBytes: Int64,
        subscriptions: Int64,
        clients: Int64,
        credentials: Int64,
        keys: Int64
    ) {
        self.sessions = sessions
        self.tasks = tasks
        self.outstandingTasks = outstandingTasks
        self.storedBytes = storedBytes
        self.subscriptions = subscriptions
        self.clients = clients
        self.credentials = credentials
        self.keys = keys
    }
}
