package import Foundation

/// One try to deliver a message, as it is logged.
package struct DeliveryAttempt: Equatable, Sendable {
    /// The longest begin of an answer that is kept, in bytes as they came.
    package static let answerBytesMax = 1024

    package let at: Date
    package let duration: Duration
    /// Of the answer, when there was one.
    package let status: Int?
    /// A stable word for why the message was not taken; nil when it was.
    package let reason: String?
    /// The begin of the answer's body; nil when that is empty.
    package let answer: String?
    /// Whether it was asked for, rather than made by the schedule.
    package let isReplay: Bool

    package init(
        at: Date,
        duration: Duration,
        status: Int?,
        reason: String?,
        answer: String?,
        isReplay: Bool
    ) {
        self.at = at
        self.duration = duration
        self.status = status
        self.reason = reason
        self.answer = answer
        self.isReplay = isReplay
    }
}

/// A message that was not taken at its first try, or was replayed; or events that expired before.
package struct LoggedDelivery: Sendable {
    package let id: DeliveryID
    package let subscription: SubscriptionID
    /// The last that its message holds; its identifier is the `webhook-id` unless it is a batch.
    ///
    /// Nil for what has expired, as its kind.
    package let event: UUID?
    package let kind: SessionEvent.Kind?
    /// Nil for a message of one event.
    package let batch: MessageBatch?
    /// The first of the events that expired together, the last being ``sequence``.
    package let firstExpired: Int64?
    /// Nil for an event of the tenant, as the session's identifier.
    package let client: ClientID?
    package let sessionIdentifier: String?
    package let sequence: Int64
    package let state: State
    package let diedAt: Date?
    /// When it is tried next, as far as that is known; nil when nothing is planned.
    package let nextAttemptAt: Date?
    /// From the oldest; only the newest of many.
    package let attempts: [DeliveryAttempt]

    /// What has become of it; part of the API, never renamed.
    package enum State: String, CaseIterable, Sendable {
        /// It is tried again by the schedule, and what comes after it in its session waits.
        case waiting
        case delivered
        /// It was tried as often as the schedule says and then passed over.
        case dead
        /// Events that were kept no longer when they were to be delivered; it cannot be replayed.
        case expired
    }

    package init(
        id: DeliveryID,
        subscription: SubscriptionID,
        event: UUID?,
        kind: SessionEvent.Kind?,
        batch: MessageBatch? = nil,
        firstExpired: Int64? = nil,
        client: ClientID?,
        sessionIdentifier: String?,
        sequence: Int64,
        state: State,
        diedAt: Date?,
        nextAttemptAt: Date?,
        attempts: [DeliveryAttempt]
    ) {
        self.id = id
        self.subscription = subscription
        self.event = event
        self.kind = kind
        self.batch = batch
        self.firstExpired = firstExpired
        self.client = client
        self.sessionIdentifier = sessionIdentifier
        self.sequence = sequence
        self.state = state
        self.diedAt = diedAt
        self.nextAttemptAt = nextAttemptAt
        self.attempts = attempts
    }
}

/// A logged delivery that this instance is to send once more.
package struct ReplayClaim: Sendable {
    package let delivery: DeliveryID
    package let subscription: SubscriptionID
    package let session: SessionID
    /// The last that the message holds.
    package let sequence: Int64
    /// The first of a batch; nil for a message of one event.
    package let batchFirst: Int64?
    package let fence: Fence
    package let endpoint: Endpoint
    /// Nil for every kind.
    package let filter: EventFilter?
    /// Whether the subscription is for a client or a session, rather than for all of the tenant.
    package let isScoped: Bool

    package init(
        delivery: DeliveryID,
        subscription: SubscriptionID,
        session: SessionID,
        sequence: Int64,
        batchFirst: Int64? = nil,
        fence: Fence,
        endpoint: Endpoint,
        filter: EventFilter? = nil,
        isScoped: Bool = false
    ) {
        self.delivery = delivery
        self.subscription = subscription
        self.session = session
        self.sequence = sequence
        self.batchFirst = batchFirst
        self.fence = fence
        self.endpoint = endpoint
        self.filter = filter
        self.isScoped = isScoped
    }
}
