/// The reason why a message was not delivered, without anything that the receiver wrote.
struct DeliveryFailure: Equatable, Sendable {
    /// The answer's status; nil without an answer.
    var status: Int?
    /// A stable word for the reason.
    var reason: String
    /// The wait that the receiver asked for with `Retry-After`.
    var retryAfter: Duration?
    /// Whether this counts as a try; not when too many messages were on their way, or when the
    /// service was short of descriptors or memory.
    var isTry = true

    /// Whether there was nobody to take the message: one that breaks off an answer was there.
    var isOfWhoIsAway: Bool { status == nil && reason != "connection_lost" }

    /// The failure of a message that was answered with 202 again and again and never acknowledged.
    static let notAcknowledged = DeliveryFailure(reason: "not_acknowledged")

    /// The failure of a message whose event this release cannot read.
    static let unreadable = DeliveryFailure(reason: "unreadable_event")

    /// The failure of a message to be sent again whose events are no longer kept.
    static let expired = DeliveryFailure(reason: "events_expired")

    /// The failure of a message to be sent again to a subscription that no longer asks for any of
    /// its events.
    static let notAskedFor = DeliveryFailure(reason: "not_asked_for")

    /// The word for a failure on our side.
    static let serviceReason = "service"
}
