/// A message that was not taken at its first try, or was replayed, as clients see it; or events
/// that expired before they were delivered.
package struct DeliveryDocument: Codable, Sendable {
    package let id: String
    package let subscriptionID: String
    /// The `webhook-id` of its message; absent for what has expired, as the type.
    package let eventID: String?
    /// `events.batch` for a message of several events.
    package let eventType: String?
    /// Absent for what happened in no session, as the session's identifier.
    package let client: String?
    package let sessionIdentifier: String?
    package let sequence: Int64
    /// Of a batch, and of what has expired: its first event, and how many there are up to
    /// ``sequence``.
    package let firstSequence: Int64?
    package let eventCount: Int?
    /// `waiting`, `delivered`, `dead` or `expired`.
    package let state: String
    package let diedAt: Timestamp?
    package let nextAttemptAt: Timestamp?
    /// From the oldest.
    package let attempts: [DeliveryAttemptDocument]

    package init(
        id: String,
        subscriptionID: String,
        eventID: String?,
        eventType: String?,
        client: String?,
        sessionIdentifier: String?,
        sequence: Int64,
        firstSequence: Int64?,
        eventCount: Int?,
        state: String,
        diedAt: Timestamp?,
        nextAttemptAt: Timestamp?,
        attempts: [DeliveryAttemptDocument]
    ) {
        self.id = id
        self.subscriptionID = subscriptionID
        self.eventID = eventID
        self.eventType = eventType
        self.client = client
        self.sessionIdentifier = sessionIdentifier
        self.sequence = sequence
        self.firstSequence = firstSequence
        self.eventCount = eventCount
        self.state = state
        self.diedAt = diedAt
        self.nextAttemptAt = nextAttemptAt
        self.attempts = attempts
    }

    private enum CodingKeys: String, CodingKey {
        case id, client, sequence, state, attempts
        case subscriptionID = "subscription_id"
        case eventID = "event_id"
        case eventType = "event_type"
        case firstSequence = "first_sequence"
        case eventCount = "event_count"
        case sessionIdentifier = "session_identifier"
        case diedAt = "died_at"
        case nextAttemptAt = "next_attempt_at"
    }
}
