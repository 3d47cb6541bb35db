/// What a client has taken over.
package struct ReconnectionDocument: Codable, Sendable {
    package let items: [Item]
    /// Renews and releases the items; absent when there are none.
    package let leaseToken: String?
    /// Absent for good, and when there are no items.
    package let leaseExpiresAt: Timestamp?
    /// Absent when there was nothing more.
    package let nextCursor: String?

    package init(
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

    /// One task, or why there is none.
    package struct Item: Codable, Sendable {
        package let ok: TaskDocument?
        package let error: Failure?

        package init(_ task: TaskDocument) {
            ok = task
            error = nil
        }

        package init(_ failure: Failure) {
            ok = nil
            error = failure
        }
    }

    /// A task that the client cannot go on with.
    package struct Failure: Codable, Sendable {
        package let taskID: String
        /// Stable.
        package let kind: String
        package let message: String

        package init(taskID: String, kind: String, message: String) {
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
