/// The tasks that a client has taken over.
public struct ReconnectionDocument: Codable, Sendable {
    /// The tasks taken over, or the reasons why they were not.
    public let items: [Item]
    /// The token that renews and releases the items; absent when there are none.
    public let leaseToken: String?
    /// The end of the lease; absent for a permanent one, and when there are no items.
    public let leaseExpiresAt: Timestamp?
    /// The cursor of the next tasks; absent when there were no more.
    public let nextCursor: String?

    /// Creates the value from its parts.
    public init(
        items: [Item],
        leaseToken: String?,
        leaseExpiresAt: Timestamp?,
        nextCursor: String?
    ) {
        self.items = items
        self.leaseToken = leaseToken
        self.leaseExpiresAt = leaseExpiresAt
        self.nextCursor = nextCursor
    }

    private enum CodingKeys: String, CodingKey {
        case items
        case leaseToken = "lease_token"
        case leaseExpiresAt = "lease_expires_at"
        case nextCursor = "next_cursor"
    }

    /// One task, or the reason why there is none.
    public struct Item: Codable, Sendable {
        /// The task; absent when the client cannot resume it.
        public let ok: TaskDocument?
        /// The reason why the client cannot resume the task.
        public let error: Failure?

        /// Creates the value from its parts.
        public init(_ task: TaskDocument) {
            ok = task
            error = nil
        }

        /// Creates the value from its parts.
        public init(_ failure: Failure) {
            ok = nil
            error = failure
        }
    }

    /// A task that the client cannot resume.
    public struct Failure: Codable, Sendable {
        /// The identifier of the task.
        public let taskID: String
        /// The stable kind of the failure.
        public let kind: String
        /// The reason as text for people.
        public let message: String

        /// Creates the value from its parts.
        public init(taskID: String, kind: String, message: String) {
            self.taskID = taskID
            self.kind = kind
            self.message = message
        }

        private enum CodingKeys: String, CodingKey {
            case kind, message
            case taskID = "task_id"
        }
    }
}
