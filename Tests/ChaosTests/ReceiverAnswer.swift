/// A subscriber's answer to one message.
enum ReceiverAnswer: CaseIterable {
    case taken
    /// Taken once the step is over, if the service is still there.
    case takenLate
    /// Refused with 500.
    case refused
    /// Refused with 503, which holds back all of a subscription's messages.
    case throttled
    /// The connection breaks when the message has arrived.
    case lost
    /// The answer is not HTTP.
    case garbled
}
