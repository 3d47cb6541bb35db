package import Foundation

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
