import Crypto
import Foundation
import TransferModel

/// The events of one message, at least one.
struct OutgoingMessage: Sendable {
    let events: [SessionEvent]
    /// The batch; nil for a message of one event.
    let batch: MessageBatch?
    /// The last of the events.
    let last: SessionEvent

    /// What the message is called in the log.
    var name: MessageName {
        MessageName(id: batch?.id ?? last.id, sequence: last.sequence, batch: batch)
    }

    /// Creates a message of one event.
    init(_ event: SessionEvent) {
        events = [event]
        batch = nil
        last = event
    }

    /// Creates a batch; nil without events.
    init?(batch events: [SessionEvent], of subscription: SubscriptionID) {
        guard let first = events.first, let last = events.last else { return nil }
        self.events = events
        self.last = last
        batch = MessageBatch(
            id: Self.id(of: events, subscription),
            first: first.sequence,
            count: events.count
        )
    }

    /// Returns an identifier that is the same for the same events of a subscription, and another
    /// for any others.
    ///
    /// It is a UUID of version 8 (RFC 9562 §5.8) from a digest of their identifiers.
    private static func id(of events: [SessionEvent], _ subscription: SubscriptionID) -> UUID {
        var hash = SHA256()
        for id in [subscription.uuid] + events.map(\.id) {
            withUnsafeBytes(of: id.uuid) { hash.update(bufferPointer: $0) }
        }
        var bytes = Array(hash.finalize().prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}
