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
    package let payload: Payload

    package init(
        id: UUID,
        session: SessionID,
        client: ClientID?,
        sessionIdentifier: String?,
        sequence: Int64,
        kind: Kind,
        generation: Int64,
        occurredAt: Date,
        payload: Payload
    ) {
        self.id = id
        self.session = session
        self.client = client
        self.sessionIdentifier = sessionIdentifier
        self.sequence = sequence
        self.kind = kind
        self.generation = generation
        self.occurredAt = occurredAt
        self.payload = payload
    }

    /// Returns whether the event is in the scope of that subscription.
    ///
    /// Of the tenant's events, a subscription for a client or a session gets only those about
    /// itself.
    package func isInScope(of subscription: SubscriptionID, isScoped: Bool) -> Bool {
        if case .eventsExpired(let events) = payload, events.subscription == subscription {
            return true
        }
        return !isScoped || client != nil
    }

    /// What an event says beside its kind.
    package enum Payload: Sendable {
        /// `task.*`
        case task(TaskSnapshot)
        /// `session.events_finished`
        case generation(GenerationSummary)
        /// `session.events_pending`
        case pending(PendingTasks)
        /// `session.invalidated`, which says it all.
        case nothing
        /// An event in a client's own log.
        case client(ClientEvent)
        /// `client.removed`
        case clientRemoved(RemovedClient)
        /// `subscription.disabled`
        case subscriptionDisabled(DisabledSubscription)
        /// `subscription.events_expired`
        case eventsExpired(ExpiredEvents)
    }

    /// The task that the event is about; nil for other events.
    package var task: TaskSnapshot? {
        if case .task(let task) = payload { task } else { nil }
    }

    /// What the event says about the generation that it ends; nil for other events.
    package var summary: GenerationSummary? {
        if case .generation(let summary) = payload { summary } else { nil }
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
        case clientRemoved = "client.removed"
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

}
