/// The reason why a message was not delivered, without anything that the receiver wrote.
struct DeliveryFailure: Equatable, Sendable {
    /// The answer's status; nil without an answer.
    var status: Int?
    /// A stable word for the reason.
    var reason: String
    /// The wait that the receiver asked for with `Retry-After`.
    var retryAfter: Duration?

    /// The failure of a message that was answered with 202 again and again and never acknowledged.
    static let notAcknowledged = DeliveryFailure(reason: "not_acknowledged")

    /// The failure of a message whose event this release cannot read.
    static let unreadable = DeliveryFailure(reason: "unreadable_event")

    /// The word for a failure on our side.
    static let serviceReason = "service"
}
