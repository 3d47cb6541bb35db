/// An event as clients see it, in the events page and in webhooks alike.
///
/// `type`, `timestamp` and `data` are the payload of Standard Webhooks 1.0. Encoded with
/// ``WireEncoder``, a message is the same bytes in every delivery.
public struct EventMessage: Codable, Sendable {
    /// The identifier of the event, unique forever; the `webhook-id` of the message.
    public let id: String
    /// The type of the event.
    public let type: String
    /// The time of the event.
    public let timestamp: Timestamp
    /// The version of the form of `data`; another version is sent only to clients that ask for it.
    public let version: Int
    /// The content of the event.
    public let data: Content

    /// The version that this release writes, to which fields may be added.
    public static let version = 1

    /// Creates the value from its parts.
    public init(id: String, type: String, timestamp: Timestamp, data: Content) {
        self.id = id
        version = Self.version
        self.type = type
        self.timestamp = timestamp
        self.data = data
    }

    /// The content of the event; the fields from `completed` on belong to `session.events_finished`
    /// alone.
    public struct Content: Codable, Sendable {
        /// The client of the session, or that the event is about; absent for what happened to a
        /// tenant.
        public let client: String?
        /// The identifier that the client gave the session; absent for what happened in no session.
        public let sessionIdentifier: String?
        /// The session's own identifier, absent like the one given by the client; a later session
        /// with the same identifier has another one.
        public let sessionID: String?
        /// The number of the event in the log of its session, client or tenant, from 1 without
        /// gaps.
        public let sequence: Int64
        /// The generation of the session.
        public let generation: Int64
        /// The task that the event is about.
        public var task: Task?
        /// The disabled subscription, only in `subscription.disabled`.
        public var subscription: DisabledSubscription?
        /// The expired events, only in `subscription.events_expired`.
        public var expiredEvents: ExpiredEvents?
        /// The move of the client, only in `client.lifecycle_changed`.
        public var lifecycle: ClientEventDocument.Lifecycle?
        /// The removed client, only in `client.removed`.
        public var removedClient: RemovedClient?
        /// The assertion, only in `assertion.expiring` and `assertion.expired`.
        public var assertion: ClientEventDocument.Assertion?
        /// The run, only in `background_task.*`.
        public var backgroundTask: ClientEventDocument.Run?
        /// The number of tasks that wait to begin; this and the next two only in
        /// `session.events_pending`.
        public var waitingToBegin: Int64?
        /// The number of tasks that wait for a credential.
        public var waitingForAuthentication: Int64?
        /// The first of the waiting tasks.
        public var pendingTaskIDs: [String]?
        /// The number of completed tasks of the generation.
        public var completed: Int64?
        /// The number of failed tasks of the generation.
        public var failed: Int64?
        /// The number of cancelled tasks of the generation.
        public var cancelled: Int64?
        /// The first failed tasks; all of them are at ``failedTasksURL``.
        public var failedTasks: [FailedTask]?
        /// The link to the list of all failed tasks.
        public var failedTasksURL: String?
        /// The number of events of the generation that were given up and not delivered to the
        /// subscription; absent for none, and in pages.
        public var deadLetters: Int64?
        /// The token that a subscriber which answers 202 posts to `…/events/ack`; absent in pages.
        public var ackToken: String?

        /// Creates the value with what every event has; the rest depends on its type.
        public init(
            client: String?,
            sessionIdentifier: String?,
            sessionID: String?,
            sequence: Int64,
            generation: Int64
        ) {
            self.client = client
            self.sessionIdentifier = sessionIdentifier
            self.sessionID = sessionID
            self.sequence = sequence
            self.generation = generation
        }

        private enum CodingKeys: String, CodingKey {
            case client, sequence, generation, task, subscription, completed, failed, cancelled
            case lifecycle, assertion
            case backgroundTask = "background_task"
            case sessionIdentifier = "session_identifier"
            case sessionID = "session_id"
            case expiredEvents = "expired_events"
            case removedClient = "removed_client"
            case waitingToBegin = "waiting_to_begin"
            case waitingForAuthentication = "waiting_for_authentication"
            case pendingTaskIDs = "pending_task_ids"
            case failedTasks = "failed_tasks"
            case failedTasksURL = "failed_tasks_url"
            case deadLetters = "dead_letters"
            case ackToken = "ack_token"
        }
    }

    /// The fields of `session.events_finished` for one subscription, which lie flat in ``Content``.
    public struct Closing: Sendable {
        /// The number of events of the generation that were given up.
        public let deadLetters: Int64
        /// The token that a subscriber posts to `…/events/ack`.
        public let ackToken: String

        /// Creates the value from its parts.
        public init(deadLetters: Int64, ackToken: String) {
            self.deadLetters = deadLetters
            self.ackToken = ackToken
        }
    }

    /// The task as it was when the event happened.
    public struct Task: Codable, Sendable {
        /// The identifier of the task.
        public let id: String
        /// The state of the task.
        public let state: String
        /// The number of attempts begun so far.
        public let attempt: Int
        /// The string that the client gave the task.
        public let clientPersistedString: String?
        /// The number of bytes received so far.
        public let countOfBytesReceived: Int64
        /// The newest failure of the task.
        public let error: TaskDocument.Failure?
        /// The expected number of bytes, -1 while unknown; this and the next two only in
        /// `task.progress`.
        public var countOfBytesExpectedToReceive: Int64?
        /// The number of bytes sent so far.
        public var countOfBytesSent: Int64?
        /// The expected number of bytes, -1 while unknown.
        public var countOfBytesExpectedToSend: Int64?
        /// The kind: `download`, `upload` or `data`; absent once the task is kept no longer, as are
        /// the next four.
        public var kind: String?
        /// The URL of the request without its query.
        public var url: String?
        /// The destination of the result.
        public var destination: TaskDocument.Destination?
        /// The link to the content of a completed task.
        public var content: String?
        /// The origin's response to a completed task.
        public var response: TaskDocument.Response?

        /// Creates the value from its parts.
        public init(
            id: String,
            state: String,
            attempt: Int,
            clientPersistedString: String?,
            countOfBytesReceived: Int64,
            error: TaskDocument.Failure?
        ) {
            self.id = id
            self.state = state
            self.attempt = attempt
            self.clientPersistedString = clientPersistedString
            self.countOfBytesReceived = countOfBytesReceived
            self.error = error
        }

        private enum CodingKeys: String, CodingKey {
            case id, state, attempt, error, kind, url, destination, content, response
            case clientPersistedString = "client_persisted_string"
            case countOfBytesReceived = "count_of_bytes_received"
            case countOfBytesExpectedToReceive = "count_of_bytes_expected_to_receive"
            case countOfBytesSent = "count_of_bytes_sent"
            case countOfBytesExpectedToSend = "count_of_bytes_expected_to_send"
        }
    }

    /// The client that `client.removed` is about; another one may have its name since.
    public struct RemovedClient: Codable, Sendable {
        /// The name of the client.
        public let client: String
        /// The kind: `app` or `extension`.
        public let kind: String

        /// Creates the value from its parts.
        public init(client: String, kind: String) {
            self.client = client
            self.kind = kind
        }
    }

    /// The subscription that `subscription.disabled` is about.
    public struct DisabledSubscription: Codable, Sendable {
        /// The identifier of the subscription.
        public let id: String
        /// The reason: `gone` or `failing`.
        public let reason: String
        /// The time of the first failure since the last success.
        public let failingSince: Timestamp

        /// Creates the value from its parts.
        public init(id: String, reason: String, failingSince: Timestamp) {
            self.id = id
            self.reason = reason
            self.failingSince = failingSince
        }

        private enum CodingKeys: String, CodingKey {
            case id, reason
            case failingSince = "failing_since"
        }
    }

    /// The events that expired before they were delivered, and the subscription that misses them.
    public struct ExpiredEvents: Codable, Sendable {
        /// The identifier of the subscription that misses the events.
        public let subscriptionID: String
        /// The session's own identifier.
        public let sessionID: String
        /// The client of the session.
        public let client: String
        /// The identifier that the client gave the session; absent for the client's own events.
        public let sessionIdentifier: String?
        /// The sequence of the first expired event.
        public let firstSequence: Int64
        /// The sequence of the last expired event.
        public let lastSequence: Int64

        /// Creates the value from its parts.
        public init(
            subscriptionID: String,
            sessionID: String,
            client: String,
            sessionIdentifier: String?,
            firstSequence: Int64,
            lastSequence: Int64
        ) {
            self.subscriptionID = subscriptionID
            self.sessionID = sessionID
            self.client = client
            self.sessionIdentifier = sessionIdentifier
            self.firstSequence = firstSequence
            self.lastSequence = lastSequence
        }

        private enum CodingKeys: String, CodingKey {
            case client
            case subscriptionID = "subscription_id"
            case sessionID = "session_id"
            case sessionIdentifier = "session_identifier"
            case firstSequence = "first_sequence"
            case lastSequence = "last_sequence"
        }
    }

    /// A failed task, as the summary of its generation lists it.
    public struct FailedTask: Codable, Sendable {
        /// The identifier of the task.
        public let id: String
        /// The string that the client gave the task.
        public let clientPersistedString: String?
        /// True if the task has a string that did not fit into the message.
        public let isClientPersistedStringOmitted: Bool?
        /// The code of the failure.
        public let code: String

        /// Creates the value from its parts.
        public init(
            id: String,
            clientPersistedString: String?,
            isClientPersistedStringOmitted: Bool? = nil,
            code: String
        ) {
            self.id = id
            self.clientPersistedString = clientPersistedString
            self.isClientPersistedStringOmitted = isClientPersistedStringOmitted
            self.code = code
        }

        private enum CodingKeys: String, CodingKey {
            case id, code
            case isClientPersistedStringOmitted = "is_client_persisted_string_omitted"
            case clientPersistedString = "client_persisted_string"
        }
    }
}
