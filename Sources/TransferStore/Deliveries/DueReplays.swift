package import TransferModel

/// The due replays that a claim was given.
package struct DueReplays: Sendable {
    /// The claims, one for each replay.
    package let claims: [ReplayClaim]
    /// The subscriptions that this release cannot read; their replays were put off.
    package let unreadable: Set<SubscriptionID>

    /// Whether no replay was due.
    package var isEmpty: Bool { claims.isEmpty && unreadable.isEmpty }
}
