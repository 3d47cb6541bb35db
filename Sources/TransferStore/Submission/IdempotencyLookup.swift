/// The result of a look-up of an idempotency key.
package enum IdempotencyLookup: Equatable, Sendable {
    /// The key is new.
    case none
    /// The same request has had this answer.
    case replay(IdempotencyRecord.Response)
    /// The key was used for another request.
    case mismatch
}
