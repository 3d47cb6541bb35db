/// An event as clients see it, in the events page and in webhooks alike.
///
/// `type`, `timestamp` and `data` are the payload of Standard Webhooks 1.0. Encoded with
/// ``WireEncoder``, a message is the same bytes in every delivery.
package struct EventMessage: Codable, Sendable {
    /// The identifier of the event, unique forever; the `webhook-id` of the message.
    package let id: String
    /// The type of the event.
    package let type: String
    /// The time of the event.
    package let timestamp: Timestamp
    /// The version of the form of `data`; another version is sent only to clients that ask for it.
    package let version: Int
    /// The content of the event.
    package let data: Content

    /// The version that this release writes, to which fields may be added.
    package static let version = 1

    package init(id: String, type: String, timestamp: Timestamp, data: Content) {
        self.id = id
        version = Self.version
        self.type = type
        self.timestamp = timestamp
        self.data = data
    }

    /// The content of the event; the fields from `completed` on belong to `session.events_finished`
    /// alone.
    package struct Content: Codable, Sendable {
        /// The client of the session, or that the event is about; absent for what happened to a
        /// tenant.
        package let client: String?
        /// The identifier that the client gave the session; absent for what happened in no session.
        package let sessionIdentifier: String?
        /// The session's own identifier, absent like the one given by the client; a later session
        /// with the same identifier has another one.
        package let sessionID: String?
        /// The number of the event in the log of its session, client or tenant, from 1 without gaps.
        package let sequence: Int64
        /// The generation of the session.
        package let generation: Int64
        /// The task that the event is about.
        package let task: Task?
        /// The disabled subscription, only in `subscription.disabled`.
        package let subscription: DisabledSubscription?
        /// The expired events, only in `subscription.events_expired`.
        package let expiredEvents: ExpiredEvents?
        /// The move of the client, only in `client.lifecycle_changed`.
        package var lifecycle: ClientEventDocument.Lifecycle?
        /// The assertion, only in `assertion.expiring` and `assertion.expired`.
        package var assertion: ClientEventDocument.Assertion?
        /// The run, only in `background_task.*`.
        package var backgroundTask: ClientEventDocument.Run?
        /// The number of tasks that wait to begin; this and the next two only in
        /// `session.events_pending`.
        package let waitingToBegin: Int64?
        /// The number of tasks that wait for a credential.
        package let waitingForAuthentication: Int64?
        /// The first of the waiting tasks.
        package let pendingTaskIDs: [String]?
        /// The number of completed tasks of the generation.
        package let completed: Int64?
        /// The number of failed tasks of the generation.
        package let failed: Int64?
        /// The number of cancelled tasks of the generation.
        package let cancelled: Int64?
        /// The first failed tasks; all of them are at ``failedTasksURL``.
        package let failedTasks: [FailedTask]?
        /// The link to the list of all failed tasks.
        package let failedTasksURL: String?
        /// The number of events of the generation that were given up and not delivered to the
        /// subscription; absent for none, and in pages.
        package let deadLetters: Int64?
        /// The token that a subscriber which answers 202 posts to `…/events/ack`; absent in pages.
        package let ackToken: String?

        package init(
            client: String?,
            sessionIdentifier: String?,
            sessionID: String?,
            sequence: Int64,
            generation: Int64,
            task: Task? = nil,
            summary: Summary? = nil,
            closing: Closing? = nil,
            subscription: DisabledSubscription? = nil,
            expiredEvents: ExpiredEvents? = nil,
            pending: Pending? = nil
        ) {
            self.client = client
            self.sessionIdentifier = sessionIdentifier
            self.sessionID = sessionID
            self.sequence = sequence
            self.generation = generation
            self.task = task
            self.subscription = subscription
            self.expiredEvents = expiredEvents
            waitingToBegin = pending?.waitingToBegin
            waitingForAuthentication = pending?.waitingForAuthentication
            pendingTaskIDs = pending?.taskIDs
            completed = summary?.completed
            failed = summary?.failed
            cancelled = summary?.cancelled
            failedTasks = summary?.failedTasks
            failedTasksURL = summary?.failedTasksURL
            deadLetters = closing.flatMap { $0.deadLetters == 0 ? nil : $0.deadLetters }
            ackToken = closing?.ackToken
        }

        private enum CodingKeys: String, CodingKey {
            case client, sequence, generation, task, subscription, completed, failed, cancelled
            case lifecycle, assertion
            case backgroundTask = "background_task"
            case sessionIdentifier = "session_identifier"
            case sessionID = "session_id"
            case expiredEvents = "expired_events"
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
    package struct Closing: Sendable {
        package let deadLetters: Int64
        package let ackToken: String

        package init(deadLetters: Int64, ackToken: String) {
            self.deadLetters = deadLetters
            self.ackToken = ackToken
        }
    }

    /// The tasks that wait for their client; its fields lie flat in ``Content``.
    package struct Pending: Sendable {
        /// The number of tasks that wait to begin.
        package let waitingToBegin: Int64
        /// The number of tasks that wait for a credential.
        package let waitingForAuthentication: Int64
        /// The identifiers of the first waiting tasks.
        package let taskIDs: [String]

        package init(waitingToBegin: Int64, waitingForAuthentication: Int64, taskIDs: [String]) {
            self.waitingToBegin = waitingToBegin
            self.waitingForAuthentication = waitingForAuthentication
            self.taskIDs = taskIDs
        }
    }

    /// The outcome of a generation; its fields lie flat in ``Content``.
    package struct Summary: Sendable {
        /// The number of completed tasks.
        package let completed: Int64
        /// The number of failed tasks.
        package let failed: Int64
        /// The number of cancelled tasks.
        package let cancelled: Int64
        /// The first failed tasks.
        package let failedTasks: [FailedTask]
        /// The link to the list of all failed tasks.
        package let failedTasksURL: String

        package init(
            completed: Int64,
            failed: Int64,
            cancelled: Int64,
            failedTasks: [FailedTask],
            failedTasksURL: String
        ) {
            self.completed = completed
            self.failed = failed
            self.cancelled = cancelled
            self.failedTasks = failedTasks
            self.failedTasksURL = failedTasksURL
        }
    }

    /// The task as it was when the event happened.
    package struct Task: Codable, Sendable {
        /// The identifier of the task.
        package let id: String
        /// The state of the task.
        package let state: String
        /// The number of attempts begun so far.
        package let attempt: Int
        /// The string that the client gave the task.
        package let clientPersistedString: String?
        /// The number of bytes received so far.
        package let countOfBytesReceived: Int64
        /// The newest failure of the task.
        package let error: TaskDocument.Failure?
        /// The expected number of bytes, -1 while unknown; this and the next two only in
        /// `task.progress`.
        package var countOfBytesExpectedToReceive: Int64?
        package var countOfBytesSent: Int64?
        package var countOfBytesExpectedToSend: Int64?
        /// The kind: `download`, `upload` or `data`; absent once the task is kept no longer, as are
        /// the next four.
        package var kind: String?
        /// The URL of the request without its query.
        package var url: String?
        /// The destination of the result.
        package var destination: TaskDocument.Destination?
        /// The link to the content of a completed task.
        package var content: String?
        /// The origin's response to a completed task.
        package var response: TaskDocument.Response?

        package init(
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

    /// The subscription that `subscription.disabled` is about.
    package struct DisabledSubscription: Codable, Sendable {
        /// The identifier of the subscription.
        package let id: String
        /// The reason: `gone` or `failing`.
        package let reason: String
        package let failingSince: Timestamp

        package init(id: String, reason: String, failingSince: Timestamp) {
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
    package struct ExpiredEvents: Codable, Sendable {
        /// The identifier of the subscription that misses the events.
        package let subscriptionID: String
        /// The session's own identifier.
        package let sessionID: String
        /// The client of the session.
        package let client: String
        /// The identifier that the client gave the session; absent for the client's own events.
        package let sessionIdentifier: String?
        /// The sequence of the first expired event.
        package let firstSequence: Int64
        /// The sequence of the last expired event.
        package let lastSequence: Int64

        package init(
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
    package struct FailedTask: Codable, Sendable {
        /// The identifier of the task.
        package let id: String
        /// The string that the client gave the task.
        package let clientPersistedString: String?
        /// True if the task has a string that did not fit into the message.
        package let isClientPersistedStringOmitted: Bool?
        /// The code of the failure.
        package let code: String

        package init(
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
