/// The contents of events that belong to a client's own log.
package enum ClientEventDocument {
    /// A move of the client from one state of life to another.
    package struct Lifecycle: Codable, Equatable, Sendable {
        /// The state before.
        package let from: String
        /// The state after.
        package let to: String
        /// The cause: `requested`, `grace_ended` or `assertion_leaked`.
        package let reason: String

        package init(from: String, to: String, reason: String) {
            self.from = from
            self.to = to
            self.reason = reason
        }
    }

    /// A run that is launched, or whose time is ending or over.
    package struct Run: Codable, Equatable, Sendable {
        /// The identifier of the run, for `…/runs/{id}/complete`.
        package let runID: String
        /// The identifier of the background task.
        package let identifier: String
        /// The kind: `app_refresh`, `processing` or `continued_processing`.
        package let kind: String
        /// The time by which the run has to be complete.
        package let deadline: Timestamp
        /// Why it has ended: `deadline_passed` or `not_accepted`; absent while it has not.
        package let reason: String?

        package init(
            runID: String,
            identifier: String,
            kind: String,
            deadline: Timestamp,
            reason: String?
        ) {
            self.runID = runID
            self.identifier = identifier
            self.kind = kind
            self.deadline = deadline
            self.reason = reason
        }

        private enum CodingKeys: String, CodingKey {
            case identifier, kind, deadline, reason
            case runID = "run_id"
        }
    }

    /// An assertion whose time is ending or over.
    package struct Assertion: Codable, Equatable, Sendable {
        /// The identifier of the assertion.
        package let id: String
        /// The name that the client gave it.
        package let name: String
        /// The time at which it expires, or did.
        package let expiresAt: Timestamp

        package init(id: String, name: String, expiresAt: Timestamp) {
            self.id = id
            self.name = name
            self.expiresAt = expiresAt
        }

        private enum CodingKeys: String, CodingKey {
            case id, name
            case expiresAt = "expires_at"
        }
    }
}
