import Foundation
import TransferModel
import TransferWire

/// A message as it is sent: its bytes are the signed ones.
struct WebhookMessage: Sendable {
    /// The identifier of the event or of the batch in lower case, which every try repeats.
    let id: String
    let body: [UInt8]

    /// Creates the message of an event.
    ///
    /// Nil when the event has no JSON, which every event that the service writes has.
    ///
    /// - Parameters:
    ///   - event: what happened.
    ///   - linkBase: the service's public URL, for links.
    ///   - closing: what only the subscription's own `session.events_finished` says.
    init?(_ event: SessionEvent, linkBase: String?, closing: EventMessage.Closing? = nil) {
        let message = EventMessage(event, linkBase: linkBase, closing: closing)
        guard let body = try? WireEncoder.encode(message) else { return nil }
        id = message.id
        self.body = body
    }

    /// Creates the message of a batch; nil for a message that is not one, and without JSON as
    /// above.
    init?(_ outgoing: OutgoingMessage, linkBase: String?) {
        guard let batch = outgoing.batch else { return nil }
        let message = BatchMessage(
            id: batch.id.text,
            type: MessageBatch.type,
            timestamp: Timestamp(outgoing.last.occurredAt),
            data: BatchMessage.Content(
                events: outgoing.events.map { EventMessage($0, linkBase: linkBase) }
            )
        )
        guard let body = try? WireEncoder.encode(message) else { return nil }
        id = message.id
        self.body = body
    }

    /// Creates a message that only shows whether messages arrive.
    init?(testing subscription: SubscriptionID, at date: Date) {
        let message = TestMessage(
            id: UUID.version7(at: date).text,
            timestamp: Timestamp(date),
            subscription: subscription.description
        )
        guard let body = try? WireEncoder.encode(message) else { return nil }
        id = message.id
        self.body = body
    }
}
