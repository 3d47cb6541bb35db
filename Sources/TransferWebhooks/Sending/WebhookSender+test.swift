package import TransferModel
import TransferWire

extension WebhookSender {
    /// Sends a signed message about no event, once, outside all order and without a record.
    ///
    /// - Returns: how it went.
    package func sendTest(
        of subscription: SubscriptionID,
        to endpoint: Endpoint
    ) async -> DeliveryAttempt {
        guard let message = WebhookMessage(testing: subscription, at: now()) else {
            return SentMessage.notSent.attempt()
        }
        return await send(message, to: endpoint).attempt()
    }
}
