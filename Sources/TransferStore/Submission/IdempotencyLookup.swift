/// What is known of an idempotency key.
package enum IdempotencyLookup: Equatable, Sendable {
    /// The key is new.
    case none
    /// The same request was answered like this.
    case replay(IdempotencyRecord.Response)
    /// The key was used for another request.
    case mismatch
}
