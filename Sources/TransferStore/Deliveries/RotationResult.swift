/// What became of a request for a new signing secret.
package enum RotationResult: Sendable {
    case rotated
    case unknownSubscription
    /// As many keys sign already as may; nothing was changed.
    case tooManySecrets
    /// The request was answered before; nothing was done now.
    case replay(IdempotencyRecord.Response)
    /// The idempotency key belongs to another request.
    case idempotencyMismatch
}
