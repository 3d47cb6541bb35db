package import TransferModel

/// The due deliveries that a claim was given.
package struct DueDeliveries: Sendable {
    /// No deliveries.
    package static let none = DueDeliveries(claims: [], unreadable: [], examined: 0)

    /// The claims, one for each delivery.
    package let claims: [DeliveryClaim]
    /// The subscriptions that this release cannot read; their deliveries were put off.
    package let unreadable: Set<SubscriptionID>
    /// The number of deliveries examined, including those that have to wait longer; if it equals
    /// the limit, there may be more.
    package let examined: Int
}
