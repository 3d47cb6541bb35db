/// Why a message is not to be believed.
package enum WebhookVerificationError: Error, Equatable, Sendable {
    /// One of the three headers is missing: not a webhook of ours.
    case missingHeader(String)
    /// The timestamp is not a count of seconds.
    case invalidTimestamp
    /// Too old or from the future: a replay, or one of the clocks is wrong.
    case timestampOutOfTolerance
    /// None of the signatures is by a known key over these bytes.
    case noMatchingSignature
}
