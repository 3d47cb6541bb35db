/// The answer to a submission for one task: enough to find it again.
public struct TaskReceipt: Codable, Sendable {
    /// The identifier of the task.
    public let id: String
    /// The identifier that the client gave the session.
    public let sessionIdentifier: String
    /// The state in which the task was created.
    public let state: String
    /// The path of the task.
    public let location: String

    /// Creates the value from its parts.
    public init(id: String, sessionIdentifier: String, state: String, location: String) {
        self.id = id
        self.sessionIdentifier = sessionIdentifier
        self.state = state
        self.location = location
    }

    private enum CodingKeys: String, CodingKey {
        case id, state, location
        case sessionIdentifier = "session_identifier"
    }
}
