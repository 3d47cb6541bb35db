package import TransferModel

/// The figures of the whole service at one time.
package struct FleetFigures: Sendable {
    /// The tasks in each state; a state without tasks may be absent.
    package let tasks: [TransferState: Int64]
    /// The pairs of subscription and session with something to deliver now.
    package let deliveriesDue: Int64
    /// The time since the first of these became due.
    package let deliveryLag: Duration
    /// The time since the moment that passed first at which nobody has looked yet; zero for none.
    package let timerLag: Duration
    /// The subscriptions whose last message was not taken.
    package let subscriptionsFailing: Int64
}
