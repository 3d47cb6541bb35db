/// Why a message was not delivered; holds nothing that the receiver wrote.
struct DeliveryFailure: Equatable, Sendable {
    /// The answer's status, when there was one.
    var status: Int?
    /// A stable word.
    var reason: String
    /// What the receiver asked for with `Retry-After`.
    var retryAfter: Duration?

    /// A message that was answered with 202 again and again, and never acknowledged.
    static let notAcknowledged = DeliveryFailure(reason: "not_acknowledged")

    /// The word for what failed on our side.
    static let serviceReason = "service"
}
