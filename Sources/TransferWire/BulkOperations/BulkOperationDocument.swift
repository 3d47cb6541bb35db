/// One verb for the tasks of a session, and how far it is.
package struct BulkOperationDocument: Codable, Sendable {
    package let id: String
    /// The client of the session.
    package let client: String
    /// The identifier of the session.
    package let session: String
    package let verb: String
    /// The states of the tasks that get the verb.
    package let states: [String]
    /// `running`, `completed` or `stopped`.
    package let state: String
    /// The reason why it was stopped or, while it runs, what it waits for.
    package let reason: String?
    /// The number of tasks that were in those states when it was requested.
    package let tasksMatching: Int64
    /// The number of tasks that it has changed so far.
    package let tasksChanged: Int64
    package let createdAt: Timestamp
    package let finishedAt: Timestamp?

    package init(
        id: String,
        client: String,
        session: String,
        verb: String,
        states: [String],
        state: String,
        reason: String?,
        tasksMatching: Int64,
        tasksChanged: Int64,
        createdAt: Timestamp,
        finishedAt: Timestamp?
    ) {
        self.id = id
        self.client = client
        self.session = session
        self.verb = verb
        self.states = states
        self.state = state
        self.reason = reason
        self.tasksMatching = tasksMatching
        self.tasksChanged = tasksChanged
        self.createdAt = createdAt
        self.finishedAt = finishedAt
    }

    private enum CodingKeys: String, CodingKey {
        case id, client, session, verb, states, state, reason
        case tasksMatching = "tasks_matching"
        case tasksChanged = "tasks_changed"
        case createdAt = "created_at"
        case finishedAt = "finished_at"
    }
}
