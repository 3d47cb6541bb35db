package import TransferModel

/// The consequences of a failed try for its message and its subscription.
package struct DeliverySetback: Sendable {
    /// The failed try.
    package let attempt: DeliveryAttempt
    /// The wait until the message is tried again; nil when it is given up.
    package let retryAfter: Duration?
    /// The time for which nothing at all is sent to the receiver, because it asked for that.
    package let throttle: Duration?
    /// Whether the receiver said that it wants no more messages.
    package let isGone: Bool
    /// Whether the receiver, rather than this service, failed.
    package let isReceiversFault: Bool

    package init(
        attempt: DeliveryAttempt,
        retryAfter: Duration?,
        throttle: Duration? = nil,
        isGone: Bool = false,
        isReceiversFault: Bool = true
    ) {
        self.attempt = attempt
        self.retryAfter = retryAfter
        self.throttle = throttle
        self.isGone = isGone
        self.isReceiversFault = isReceiversFault
    }
}
