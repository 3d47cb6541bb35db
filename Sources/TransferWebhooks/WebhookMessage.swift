import Foundation
import TransferModel
import TransferWire

/// A message as it is sent: the bytes that are signed are these bytes.
struct WebhookMessage: Sendable {
    /// The event's identifier in lower case, which every try repeats.
    let id: String
    let body: [UInt8]

    /// - Returns: nil when the event has no JSON, which no event that the service writes lacks.
    init?(_ event: SessionEvent, linkBase: String?) {
        let message = EventMessage(event, linkBase: linkBase)
        guard let body = try? WireEncoder.encode(message) else { return nil }
        id = message.id
        self.body = body
    }

    /// A message that only shows whether messages arrive.
    init?(testing subscription: SubscriptionID, at date: Date) {
        let message = TestMessage(
            id: UUID.version7(at: date).uuidString.lowercased(),
            timestamp: Timestamp(date),
            subscription: subscription.description
        )
        guard let body = try? WireEncoder.encode(message) else { return nil }
        id = message.id
        self.body = body
    }
}
