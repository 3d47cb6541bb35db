package import Foundation

/// A record of what happened in a session, to a client or to a tenant; immutable once written.
package struct SessionEvent: Sendable {
    /// The event's permanently unique identifier, and the `webhook-id` of its message.
    package let id: UUID
    /// The log: the session, or the client's or tenant's own for an event outside any session.
    package let session: SessionID
    /// The client whose session it is, or whose own event; nil for an event of the tenant.
    package let client: ClientID?
    /// The session's identifier; nil for an event outside any session.
    package let sessionIdentifier: String?
    /// The event's gap-free number in its session, from 1, in order of commit.
    package let sequence: Int64
    package let kind: Kind
    package let generation: Int64
    /// The time at which the event happened.
    package let occurredAt: Date
    /// The task that the event is about; nil for other events.
    package let task: TaskSnapshot?
    package let summary: GenerationSummary?
    package let disabledSubscription: DisabledSubscription?
    package let expiredEvents: ExpiredEvents?
    package let pendingTasks: PendingTasks?
    /// The content of an event in a client's own log.
    package let clientEvent: ClientEvent?

    package init(
        id: UUID,
        session: SessionID,
        client: ClientID?,
        sessionIdentifier: String?,
        sequence: Int64,
        kind: Kind,
        generation: Int64,
        occurredAt: Date,
        task: TaskSnapshot?,
        summary: GenerationSummary?,
        disabledSubscription: DisabledSubscription? = nil,
        expiredEvents: ExpiredEvents? = nil,
        pendingTasks: PendingTasks? = nil,
        clientEvent: ClientEvent? = nil
    ) {
        self.id = id
        self.session = session
        self.client = client
        self.sessionIdentifier = sessionIdentifier
        self.sequence = sequence
        self.kind = kind
        self.generation = generation
        self.occurredAt = occurredAt
        self.task = task
        self.summary = summary
        self.disabledSubscription = disabledSubscription
        self.expiredEvents = expiredEvents
        self.pendingTasks = pendingTasks
        self.clientEvent = clientEvent
    }

    /// Returns whether the event is in the scope of that subscription.
    ///
    /// Of the tenant's events, a subscription for a client or a session gets only those about
    /// itself.
    package func isInScope(of subscription: SubscriptionID, isScoped: Bool) -> Bool {
        !isScoped || client != nil || expiredEvents?.subscription == subscription
    }

    /// A kind of event; the raw value is the event's `type` in the API and in the database.
    package enum Kind: String, CaseIterable, Sendable {
        case taskCreated = "task.created"
        case taskRetried = "task.retried"
        case taskResumed = "task.resumed"
        case taskSuspended = "task.suspended"
        case taskResumedAtOffset = "task.resumed_at_offset"
        case taskProgress = "task.progress"
        case taskWaiting = "task.waiting"
        case taskWillBegin = "task.will_begin"
        case taskAuthenticationRequired = "task.authentication_required"
        case taskDownloadFinished = "task.download_finished"
        case taskCompleted = "task.completed"
        case taskFailed = "task.failed"
        case taskCancelled = "task.cancelled"
        case sessionEventsPending = "session.events_pending"
        case sessionEventsFinished = "session.events_finished"
        case sessionInvalidated = "session.invalidated"
        case clientLifecycleChanged = "client.lifecycle_changed"
        case assertionExpiring = "assertion.expiring"
        case assertionExpired = "assertion.expired"
        case backgroundTaskLaunch = "background_task.launch"
        case backgroundTaskExpiring = "background_task.expiring"
        case backgroundTaskExpired = "background_task.expired"
        case subscriptionDisabled = "subscription.disabled"
        case subscriptionEventsExpired = "subscription.events_expired"

        /// Whether a subscription that names no kinds gets the event; an event that comes every few
        /// seconds is sent only to those who ask for it.
        package var isSentUnasked: Bool { self != .taskProgress }
    }

    /// The subscription that `subscription.disabled` is about.
    package struct DisabledSubscription: Equatable, Sendable {
        package let id: SubscriptionID
        package let reason: Subscription.Disablement.Reason
        /// The time since which no message has got through.
        package let failingSince: Date

        package init(
            id: SubscriptionID,
            reason: Subscription.Disablement.Reason,
            failingSince: Date
        ) {
            self.id = id
            self.reason = reason
            self.failingSince = failingSince
        }
    }

    /// The content of `subscription.events_expired`: the events of a session that were no longer
    /// kept when they were to be delivered.
    package struct ExpiredEvents: Equatable, Sendable {
        /// The subscription to which the events were not delivered.
        package let subscription: SubscriptionID
        /// The log of the events.
        package let session: SessionID
        package let client: ClientID
        /// The session's identifier; nil for events of the client's own log.
        package let sessionIdentifier: String?
        /// The numbers of the events.
        package let sequences: ClosedRange<Int64>

        package init(
            subscription: SubscriptionID,
            session: SessionID,
            client: ClientID,
            sessionIdentifier: String?,
            sequences: ClosedRange<Int64>
        ) {
            self.subscription = subscription
            self.session = session
            self.client = client
            self.sessionIdentifier = sessionIdentifier
            self.sequences = sequences
        }
    }

    /// The content of `session.events_pending`: the tasks that wait for their client.
    package struct PendingTasks: Equatable, Sendable {
        /// The most tasks listed.
        package static let listedMax = 20

        /// The number of tasks that wait for their client's word to start.
        package let waitingToBegin: Int64
        /// The number of tasks that wait for a credential.
        package let waitingForAuthentication: Int64
        /// The first waiting tasks by identifier.
        package let tasks: [TaskID]

        package init(waitingToBegin: Int64, waitingForAuthentication: Int64, tasks: [TaskID]) {
            self.waitingToBegin = waitingToBegin
            self.waitingForAuthentication = waitingForAuthentication
            self.tasks = tasks
        }
    }

    /// The task as it was when the event was written.
    package struct TaskSnapshot: Sendable {
        package let id: TaskID
        package let state: TransferState
        package let attempt: Int
        package let clientString: ClientString?
        package let bytesReceived: Int64
        package let failure: TransferFailure?
        /// The task's progress, in an event that reports it.
        package let progress: Progress?
        /// What the task asks of its origin; nil once the task is kept no longer.
        package let request: TaskRequestSnapshot?
        /// The origin's answer, in the events that end a task with one.
        package let result: TransferResult?

        package init(
            id: TaskID,
            state: TransferState,
            attempt: Int,
            clientString: ClientString?,
            bytesReceived: Int64,
            failure: TransferFailure?,
            progress: Progress? = nil,
            request: TaskRequestSnapshot? = nil,
            result: TransferResult? = nil
        ) {
            self.id = id
            self.state = state
            self.attempt = attempt
            self.clientString = clientString
            self.bytesReceived = bytesReceived
            self.failure = failure
            self.progress = progress
            self.request = request
            self.result = result
        }
    }

    /// What a task asks of its origin, as far as its events tell it.
    package struct TaskRequestSnapshot: Equatable, Sendable {
        package let kind: TransferRequest.Kind
        /// The URL without its query, which may hold a secret; nil while the client may change it,
        /// and for one of more than ``urlBytesMax`` bytes.
        package let url: String?
        package let destination: Destination?

        /// The most bytes of a URL in an event.
        package static let urlBytesMax = 2048

        package init(kind: TransferRequest.Kind, url: String?, destination: Destination?) {
            self.kind = kind
            self.url = url.flatMap { $0.utf8.count <= Self.urlBytesMax ? $0 : nil }
            self.destination = destination
        }
    }

    /// The progress of a task besides the bytes received.
    package struct Progress: Equatable, Sendable {
        /// The length of the file; nil while unknown, as is ``bytesToSend``.
        package let bytesExpected: Int64?
        package let bytesSent: Int64
        package let bytesToSend: Int64?

        package init(bytesExpected: Int64?, bytesSent: Int64, bytesToSend: Int64?) {
            self.bytesExpected = bytesExpected
            self.bytesSent = bytesSent
            self.bytesToSend = bytesToSend
        }
    }

    /// The summary of a generation in `session.events_finished`.
    package struct GenerationSummary: Equatable, Sendable {
        /// The most failed tasks listed; the rest are behind a link.
        package static let failedTasksMax = 20
        /// The most bytes of the listed tasks' client strings together.
        ///
        /// From the first string that does not fit on, the list has tasks without their strings,
        /// because none is ever cut. So a message stays as small as Standard Webhooks 1.0 asks for.
        package static let clientStringBytesMax = 8 * 1024

        /// The number of tasks that completed.
        package let completed: Int64
        /// The number of tasks that failed.
        package let failed: Int64
        /// The number of tasks that were cancelled.
        package let cancelled: Int64
        /// The first failed tasks by identifier.
        package let failedTasks: [FailedTask]

        package init(
            completed: Int64,
            failed: Int64,
            cancelled: Int64,
            failedTasks: [FailedTask]
        ) {
            self.completed = completed
            self.failed = failed
            self.cancelled = cancelled
            self.failedTasks = failedTasks
        }
    }

    /// A failed task as `session.events_finished` lists it.
    package struct FailedTask: Equatable, Sendable {
        package let id: TaskID
        package let clientString: ClientString?
        /// Whether the task has a client string that did not fit.
        package let isClientStringOmitted: Bool
        package let code: TransferFailure.Code

        package init(
            id: TaskID,
            clientString: ClientString?,
            isClientStringOmitted: Bool = false,
            code: TransferFailure.Code
        ) {
            self.id = id
            self.clientString = clientString
            self.isClientStringOmitted = isClientStringOmitted
            self.code = code
        }
    }
}
