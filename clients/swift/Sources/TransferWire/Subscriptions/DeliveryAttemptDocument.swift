/// One attempt to deliver a message; also the answer to `POST …/test`.
public struct DeliveryAttemptDocument: Codable, Sendable {
    /// The time at which the attempt was made.
    public let attemptedAt: Timestamp
    /// The duration in milliseconds.
    public let durationMS: Int64
    /// Whether the receiver answered with 2xx.
    public let delivered: Bool
    /// The status of the answer; absent when there was none.
    public let status: Int?
    /// A stable word for the reason why it was not delivered.
    public let reason: String?
    /// The beginning of the answer's body.
    public let answer: String?
    /// Whether the attempt was requested rather than scheduled; absent in the answer to a test.
    public let replay: Bool?

    /// Creates the value from its parts.
    public init(
        attemptedAt: Timestamp,
        durationMS: Int64,
        status: Int?,
        reason: String?,
        answer: String?,
        replay: Bool?
    ) {
        self.attemptedAt = attemptedAt
        self.durationMS = durationMS
        delivered = reason == nil
        self.status = status
        self.reason = reason
        self.answer = answer
        self.replay = replay
    }

    private enum CodingKeys: String, CodingKey {
        case delivered, status, reason, answer, replay
        case attemptedAt = "attempted_at"
        case durationMS = "duration_ms"
    }
}
