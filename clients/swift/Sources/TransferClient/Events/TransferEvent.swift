public import Foundation
public import TransferWire

/// Something that happened in a session, to a client or to the tenant.
public struct TransferEvent: Sendable {
    /// The kinds of events that this release knows; those of a newer service are
    /// ``other(type:)``.
    public enum Kind: Sendable {
        /// A task was created, or a failed or cancelled one returned to the queue, or one moved
        /// on; the `type` of the message tells which.
        case task(TaskChange, EventMessage.Task)
        /// Tasks wait for their client, and nothing else of the generation is outstanding.
        case eventsPending(taskIDs: [String])
        /// Nothing of the generation is outstanding; its last event.
        case eventsFinished(EventsFinished)
        /// The session has ended; its last event.
        case sessionInvalidated
        /// The client moved from one state of life to another.
        case lifecycleChanged(ClientEventDocument.Lifecycle)
        /// Nothing is left of a removed client.
        case clientRemoved(EventMessage.RemovedClient)
        /// The time of an assertion is ending, or over.
        case assertion(ClientEventDocument.Assertion, isOver: Bool)
        /// A background task is launched, or its time is ending, or over.
        case backgroundTask(BackgroundTaskChange, ClientEventDocument.Run)
        /// A subscription was disabled.
        case subscriptionDisabled(EventMessage.DisabledSubscription)
        /// Events expired before a subscription got them.
        case eventsExpired(EventMessage.ExpiredEvents)
        /// An event whose type, or whose content, is newer than this release.
        case other(type: String)
    }

    /// What happened to a task.
    public enum TaskChange: String, Sendable {
        /// It was created.
        case created
        /// It returned to the queue after its end.
        case retried
        /// It may run again.
        case resumed
        /// It waits until it is resumed.
        case suspended
        /// Its origin sends only the missing bytes.
        case resumedAtOffset = "resumed_at_offset"
        /// Its bytes have become more; only in streams.
        case progress
        /// It waits for another attempt, or for connectivity.
        case waiting
        /// It asks whether and how to begin.
        case willBegin = "will_begin"
        /// It asks for a credential.
        case authenticationRequired = "authentication_required"
        /// Its file is there.
        case downloadFinished = "download_finished"
        /// It has ended with success.
        case completed
        /// It has ended without success.
        case failed
        /// It was cancelled.
        case cancelled
    }

    /// What happened to a run of a background task.
    public enum BackgroundTaskChange: String, Sendable {
        /// It is launched.
        case launch
        /// Its time is ending.
        case expiring
        /// Its time is over.
        case expired
    }

    /// The event as the service describes it.
    public let message: EventMessage
    /// What happened.
    public let kind: Kind
    /// The place behind the event among those it was read with; nil for one from a webhook.
    public let cursor: EventCursor?

    /// The identifier of the event; the `webhook-id` of its message.
    public var id: String { message.id }
    /// The number of the event in its log, from 1 without gaps.
    public var sequence: Int64 { message.data.sequence }
    /// The generation of the session.
    public var generation: Int64 { message.data.generation }
    /// The time of the event.
    public var date: Date { message.timestamp.date }
    /// The identifier that the client gave the session; nil outside any session.
    public var sessionIdentifier: String? { message.data.sessionIdentifier }

    /// Reads an event, at a place if it has one.
    public init(_ message: EventMessage, cursor: EventCursor? = nil) {
        self.message = message
        self.cursor = cursor
        kind = Kind(message)
    }
}

extension TransferEvent {
    /// The outcome of a generation.
    public struct EventsFinished: Sendable {
        /// The number of completed tasks.
        public let completed: Int64
        /// The number of failed tasks.
        public let failed: Int64
        /// The number of cancelled tasks.
        public let cancelled: Int64
        /// The first failed tasks.
        public let failedTasks: [EventMessage.FailedTask]
        /// The number of events that were given up and not delivered to the subscription.
        public let deadLetters: Int64
    }
}

extension TransferEvent.Kind {
    fileprivate init(_ message: EventMessage) {
        self = Self.known(message) ?? .other(type: message.type)
    }

    private static func known(_ message: EventMessage) -> Self? {
        let parts = message.type.split(separator: ".", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { return nil }
        let data = message.data
        switch (parts[0], parts[1]) {
        case ("task", let name):
            guard let change = TransferEvent.TaskChange(rawValue: name), let task = data.task else {
                return nil
            }
            return .task(change, task)
        case ("session", "events_pending"):
            return .eventsPending(taskIDs: data.pendingTaskIDs ?? [])
        case ("session", "events_finished"):
            return .eventsFinished(
                TransferEvent.EventsFinished(
                    completed: data.completed ?? 0,
                    failed: data.failed ?? 0,
                    cancelled: data.cancelled ?? 0,
                    failedTasks: data.failedTasks ?? [],
                    deadLetters: data.deadLetters ?? 0
                )
            )
        case ("session", "invalidated"): return .sessionInvalidated
        case ("client", "lifecycle_changed"): return data.lifecycle.map { .lifecycleChanged($0) }
        case ("client", "removed"): return data.removedClient.map { .clientRemoved($0) }
        case ("assertion", "expiring"):
            return data.assertion.map { .assertion($0, isOver: false) }
        case ("assertion", "expired"): return data.assertion.map { .assertion($0, isOver: true) }
        case ("background_task", let name):
            guard let change = TransferEvent.BackgroundTaskChange(rawValue: name),
                let run = data.backgroundTask
            else { return nil }
            return .backgroundTask(change, run)
        case ("subscription", "disabled"):
            return data.subscription.map { .subscriptionDisabled($0) }
        case ("subscription", "events_expired"):
            return data.expiredEvents.map { .eventsExpired($0) }
        default: return nil
        }
    }
}
