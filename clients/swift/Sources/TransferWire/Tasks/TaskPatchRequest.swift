/// The body of `PATCH /v1/tasks/{id}`: an absent member stays as it is, null clears it.
public struct TaskPatchRequest: Codable, Sendable {
    /// The string that the client gives the task.
    public let clientPersistedString: String??
    /// The time before which the task does not begin.
    public let earliestBeginAt: Timestamp??
    /// The priority from 0 to 1 among tasks for the same host.
    public let priority: Double??
    /// The name of the credential for the task's own origin.
    public let credential: String??
    /// The task's own limit of bytes per second.
    public let bytesPerSecondMax: Int64??

    /// Creates a request; what is nil is absent.
    public init(
        clientPersistedString: String?? = nil,
        earliestBeginAt: Timestamp?? = nil,
        priority: Double?? = nil,
        credential: String?? = nil,
        bytesPerSecondMax: Int64?? = nil
    ) {
        self.clientPersistedString = clientPersistedString
        self.earliestBeginAt = earliestBeginAt
        self.priority = priority
        self.credential = credential
        self.bytesPerSecondMax = bytesPerSecondMax
    }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        clientPersistedString = try container.decodeIfNamed(
            String.self,
            forKey: .clientPersistedString
        )
        earliestBeginAt = try container.decodeIfNamed(Timestamp.self, forKey: .earliestBeginAt)
        priority = try container.decodeIfNamed(Double.self, forKey: .priority)
        credential = try container.decodeIfNamed(String.self, forKey: .credential)
        bytesPerSecondMax = try container.decodeIfNamed(Int64.self, forKey: .bytesPerSecondMax)
    }

    private enum CodingKeys: String, CodingKey {
        case priority, credential
        case bytesPerSecondMax = "bytes_per_second_max"
        case clientPersistedString = "client_persisted_string"
        case earliestBeginAt = "earliest_begin_at"
    }
}
