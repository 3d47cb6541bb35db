package import TransferModel

/// A page of the subscriptions that have replays, in the order of their identifiers.
package struct ReplayTurns: Sendable {
    /// A subscription with replays that are due.
    package struct Turn: Sendable {
        /// Whose turn it is.
        package let subscription: SubscriptionID
        /// The subscription's tenant; nil when the subscription was deleted.
        package let tenant: TenantID?
    }

    /// The subscriptions whose replays are due.
    package let turns: [Turn]
    /// The last subscription looked at; nil at the end of the list.
    package let last: SubscriptionID?
}
