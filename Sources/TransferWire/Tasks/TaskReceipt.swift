/// The answer to a submission for one task: enough to find it again.
package struct TaskReceipt: Codable, Sendable {
    /// The identifier of the task.
    package let id: String
    /// The identifier that the client gave the session.
    package let sessionIdentifier: String
    /// The state in which the task was created.
    package let state: String
    /// The path of the task.
    package let location: String

    package init(id: String, sessionIdentifier: String, state: String, location: String) {
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
