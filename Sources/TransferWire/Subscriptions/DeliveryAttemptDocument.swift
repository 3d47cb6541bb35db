/// One attempt to deliver a message; also the answer to `POST …/test`.
package struct DeliveryAttemptDocument: Codable, Sendable {
    /// The time at which the attempt was made.
    package let attemptedAt: Timestamp
    /// The duration in milliseconds.
    package let durationMS: Int64
    /// Whether the receiver answered with 2xx.
    package let delivered: Bool
    /// The status of the answer; absent when there was none.
    package let status: Int?
    /// A stable word for the reason why it was not delivered.
    package let reason: String?
    /// The beginning of the answer's body.
    package let answer: String?
    /// Whether the attempt was requested rather than scheduled; absent in the answer to a test.
    package let replay: Bool?

    package init(
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
