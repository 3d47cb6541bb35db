import TransferModel
import TransferStore
import TransferWire

/// The composer of messages: the same bytes of the same events each time.
struct MessageComposer: Sendable {
    let wakeUps: WakeUpStore
    /// The service's public URL, for links in messages; nil for relative ones.
    let linkBase: String?

    /// Returns a message as one subscription gets it, the same bytes each time.
    ///
    /// - Returns: nil when it cannot be encoded.
    /// - Throws: when the store cannot supply its content.
    func message(
        _ outgoing: OutgoingMessage,
        of subscription: SubscriptionID,
        to endpoint: Endpoint
    ) async throws(StoreError) -> WebhookMessage? {
        guard outgoing.batch == nil else { return WebhookMessage(outgoing, linkBase: linkBase) }
        let event = outgoing.last
        guard event.summary != nil else { return WebhookMessage(event, linkBase: linkBase) }
        let closing = EventMessage.Closing(
            deadLetters: try await wakeUps.deadLetterCount(
                of: subscription,
                session: event.session,
                generation: event.generation,
                before: event.sequence
            ),
            ackToken: AckToken(event, key: endpoint.ackKey).serialized
        )
        return WebhookMessage(event, linkBase: linkBase, closing: closing)
    }
}
