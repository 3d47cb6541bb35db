/// One verb for the tasks of a session, and how far it is.
public struct BulkOperationDocument: Codable, Sendable {
    /// The identifier.
    public let id: String
    /// The client of the session.
    public let client: String
    /// The identifier of the session.
    public let session: String
    /// The verb that each task gets.
    public let verb: String
    /// The states of the tasks that get the verb.
    public let states: [String]
    /// `running`, `completed` or `stopped`.
    public let state: String
    /// The reason why it was stopped or, while it runs, what it waits for.
    public let reason: String?
    /// The number of tasks that were in those states when it was requested.
    public let tasksMatching: Int64
    /// The number of tasks that it has changed so far.
    public let tasksChanged: Int64
    /// The time at which it was created.
    public let createdAt: Timestamp
    /// The time of its end; absent until then.
    public let finishedAt: Timestamp?

    /// Creates the value from its parts.
    public init(
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
