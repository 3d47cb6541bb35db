public import TransferWire

/// An event that came in an authentic message.
public enum WebhookEvent: Sendable {
    /// Nothing of a generation is outstanding; its last event.
    ///
    /// The response of the receiver is the acknowledgement, unless it answers
    /// ``WebhookAnswer/later`` and sends this one when the work is done.
    case finished(TransferEvent, TransferEvent.EventsFinished, WebhookAcknowledgement?)
    /// Any other event.
    case event(TransferEvent)
    /// The message with which a subscription was tested.
    case test(TestMessage)

    init(_ message: EventMessage) {
        let event = TransferEvent(message)
        if case .eventsFinished(let outcome) = event.kind {
            self = .finished(event, outcome, WebhookAcknowledgement(message))
        } else {
            self = .event(event)
        }
    }
}
