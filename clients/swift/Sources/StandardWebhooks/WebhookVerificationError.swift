/// A reason to distrust a message.
public enum WebhookVerificationError: Error, Equatable, Sendable {
    /// One of the three headers is missing, so the message is not our webhook.
    case missingHeader(String)
    /// The timestamp is not a count of seconds.
    case invalidTimestamp
    /// The message is too old or from the future: a replay, or one of the clocks is wrong.
    case timestampOutOfTolerance
    /// No signature was made with a known key over these bytes.
    case noMatchingSignature
}
