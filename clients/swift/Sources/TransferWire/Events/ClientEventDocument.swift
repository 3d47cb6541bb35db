/// The contents of events that belong to a client's own log.
public enum ClientEventDocument {
    /// A move of the client from one state of life to another.
    public struct Lifecycle: Codable, Equatable, Sendable {
        /// The state before.
        public let from: String
        /// The state after.
        public let to: String
        /// The cause: `requested`, `grace_ended` or `assertion_leaked`.
        public let reason: String

        /// Creates the value from its parts.
        public init(from: String, to: String, reason: String) {
            self.from = from
            self.to = to
            self.reason = reason
        }
    }

    /// A run that is launched, or whose time is ending or over.
    public struct Run: Codable, Equatable, Sendable {
        /// The identifier of the run, for `…/runs/{id}/complete`.
        public let runID: String
        /// The identifier of the background task.
        public let identifier: String
        /// The kind: `app_refresh`, `processing` or `continued_processing`.
        public let kind: String
        /// The time by which the run has to be complete.
        public let deadline: Timestamp
        /// Why it has ended: `deadline_passed` or `not_accepted`; absent while it has not.
        public let reason: String?

        /// Creates the value from its parts.
        public init(
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
    public struct Assertion: Codable, Equatable, Sendable {
        /// The identifier of the assertion.
        public let id: String
        /// The name that the client gave it.
        public let name: String
        /// The time at which it expires, or did.
        public let expiresAt: Timestamp

        /// Creates the value from its parts.
        public init(id: String, name: String, expiresAt: Timestamp) {
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
