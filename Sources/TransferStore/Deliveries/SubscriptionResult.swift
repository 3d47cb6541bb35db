/// The result of a request to create a subscription.
package enum SubscriptionResult: Sendable {
    case created
    /// The request was answered before; nothing was done now.
    case replay(IdempotencyRecord.Response)
    /// The idempotency key belongs to another request.
    case idempotencyMismatch
}
