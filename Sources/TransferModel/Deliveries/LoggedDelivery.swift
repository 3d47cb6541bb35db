package import Foundation

/// A message that was not taken at its first try or was replayed, or events that expired before.
package struct LoggedDelivery: Sendable {
    package let id: DeliveryID
    package let subscription: SubscriptionID
    /// The last event of the message; its identifier is the `webhook-id` unless it is a batch.
    ///
    /// Nil for expired events, as is ``kind``.
    package let event: UUID?
    package let kind: SessionEvent.Kind?
    /// The batch; nil for a message of one event.
    package let batch: MessageBatch?
    /// The first of the events that expired together; the last is ``sequence``.
    package let firstExpired: Int64?
    /// The client; nil for an event of the tenant, as is the session's identifier.
    package let client: ClientID?
    package let sessionIdentifier: String?
    /// The number of the last event in its session.
    package let sequence: Int64
    package let state: State
    package let diedAt: Date?
    /// The time of the next try, as far as it is known; nil when none is planned.
    package let nextAttemptAt: Date?
    /// The tries from the oldest; of many only the newest.
    package let attempts: [DeliveryAttempt]

    /// The state of a logged delivery; part of the API, never renamed.
    package enum State: String, CaseIterable, Sendable {
        /// The message is retried by the schedule, and later messages of its session wait.
        case waiting
        case delivered
        /// The message was tried as often as the schedule allows and then passed over.
        case dead
        /// The events were no longer kept when they were to be delivered; they cannot be replayed.
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
