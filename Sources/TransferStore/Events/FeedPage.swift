package import TransferModel

/// A part of a tenant's feed, with its events by position.
package struct FeedPage: Sendable {
    /// The kept events at the positions from the one asked for to ``through``.
    package let events: [PositionedEvent]
    /// The places of those that this release cannot read.
    package let unreadable: [EventPlace]
    /// The position behind which the next page begins; nil if the next positions are kept no
    /// longer.
    package let through: Int64?
    /// The oldest kept position behind the one asked for, or the next one if none is kept.
    package let oldest: Int64
    /// The newest position, 0 in an empty feed.
    package let newest: Int64
}
