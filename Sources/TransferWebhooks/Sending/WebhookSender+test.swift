package import TransferModel
import TransferWire

extension WebhookSender {
    /// Sends a signed message about no event, once, outside all order and without a record.
    ///
    /// - Parameters:
    ///   - subscription: the subscription that the message names.
    ///   - endpoint: where to.
    ///   - tenant: the tenant, whose rules say where its messages may go.
    /// - Returns: how it went.
    package func sendTest(
        of subscription: SubscriptionID,
        to endpoint: Endpoint,
        for tenant: TenantID
    ) async -> DeliveryAttempt {
        guard let message = WebhookMessage(testing: subscription, at: now()) else {
            return SentMessage.notSent.attempt()
        }
        return await send(message, to: endpoint, of: tenant).attempt()
    }
}
