package import TransferModel

/// Due deliveries that were given out.
package struct DueDeliveries: Sendable {
    package let claims: [DeliveryClaim]
    /// How many were looked at, with those that have to wait longer; as many as the limit means
    /// that there may be more.
    package let examined: Int
}
