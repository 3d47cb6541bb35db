/// The log of a message that was replayed or not accepted at the first attempt, as clients see it;
/// or of events that expired before they were delivered.
public struct DeliveryDocument: Codable, Sendable {
    /// The identifier of the delivery.
    public let id: String
    /// The identifier of the subscription.
    public let subscriptionID: String
    /// The `webhook-id` of the message; absent, like the type, for expired events.
    public let eventID: String?
    /// The type of the event, or `events.batch` for a message of several events.
    public let eventType: String?
    /// The client of the session; absent, like the session's identifier, for what happened in no
    /// session.
    public let client: String?
    /// The identifier that the client gave the session.
    public let sessionIdentifier: String?
    /// The sequence of the last event of the message, or of the last expired event.
    public let sequence: Int64
    /// The first event of a batch or of expired events; the next property counts them up to
    /// ``sequence``.
    public let firstSequence: Int64?
    /// The number of events in a batch, or of expired events.
    public let eventCount: Int?
    /// The state: `waiting`, `delivered`, `dead` or `expired`.
    public let state: String
    /// The time at which the message was given up, or its events were found to have expired.
    public let diedAt: Timestamp?
    /// The time of the next attempt.
    public let nextAttemptAt: Timestamp?
    /// The attempts, oldest first.
    public let attempts: [DeliveryAttemptDocument]

    /// Creates the value from its parts.
    public init(
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
