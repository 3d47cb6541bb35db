/// How a subscriber takes one message.
enum ReceiverAnswer: CaseIterable {
    case taken
    /// Taken once the step is over, if the service is still there.
    case takenLate
    /// Refused with 500.
    case refused
    /// Refused with 503, which keeps all of a subscription's messages back.
    case throttled
    /// The connection breaks when the message is there.
    case lost
    /// No HTTP.
    case garbled
}
