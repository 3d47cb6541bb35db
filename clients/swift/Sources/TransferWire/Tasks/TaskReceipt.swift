/// The answer to a submission for one task: enough to find it again.
public struct TaskReceipt: Codable, Sendable {
    /// The identifier of the task.
    public let id: String
    /// What the task does.
    public let kind: String
    /// The client's own text for the task, byte for byte.
    public let clientPersistedString: String?
    /// The identifier that the client gave the session.
    public let sessionIdentifier: String
    /// The state in which the task was created.
    public let state: String
    /// The path of the task.
    public let location: String

    /// Creates the value from its parts.
    public init(
        id: String,
        kind: String,
        clientPersistedString: String?,
        sessionIdentifier: String,
        state: String,
        location: String
    ) {
        self.id = id
        self.kind = kind
        self.clientPersistedString = clientPersistedString
        self.sessionIdentifier = sessionIdentifier
        self.state = state
        self.location = location
    }

    private enum CodingKeys: String, CodingKey {
        case id, kind, state, location
        case clientPersistedString = "client_persisted_string"
        case sessionIdentifier = "session_identifier"
    }
}
