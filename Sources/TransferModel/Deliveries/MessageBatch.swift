package import Foundation

/// The events of one session that one message holds together.
package struct MessageBatch: Equatable, Sendable {
    /// The type of its message.
    package static let type = "events.batch"
    package static let eventsMax = 100
    /// Of the events in JSON; one that is longer is alone in its message.
    package static let bytesMax = 1 << 20
    /// Events looked at for one batch, with those that are not asked for.
    package static let spanMax = 1000

    /// The `webhook-id`, the same for the same events of a subscription.
    package let id: UUID
    package let first: Int64
    package let last: Int64
    /// Fewer than lie from first to last where some are not asked for.
    package let count: Int

    package init(id: UUID, first: Int64, last: Int64, count: Int) {
        self.id = id
        self.first = first
        self.last = last
        self.count = count
    }
}
