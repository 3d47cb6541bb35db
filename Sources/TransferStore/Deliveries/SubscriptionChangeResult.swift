package import TransferModel

/// The result of changing a subscription.
package enum SubscriptionChangeResult: Sendable {
    /// The subscription as it is after the change.
    case changed(Subscription)
    /// The subscription has another revision than the change is for; nothing was changed.
    case conditionFailed
    /// The tenant has no such subscription.
    case unknownSubscription
}
