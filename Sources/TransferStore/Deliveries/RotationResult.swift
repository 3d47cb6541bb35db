/// The result of a request for a new signing secret.
package enum RotationResult: Sendable {
    case rotated
    case unknownSubscription
    /// The maximum number of keys already sign; nothing was changed.
    case tooManySecrets
    /// The request was answered before; nothing was done now.
    case replay(IdempotencyRecord.Response)
    /// The idempotency key belongs to another request.
    case idempotencyMismatch
}
