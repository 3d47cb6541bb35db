package import Foundation

/// Several events of one session in one message.
package struct MessageBatch: Equatable, Sendable {
    /// The type of a batch's message.
    package static let type = "events.batch"
    /// The most events in one batch.
    package static let eventsMax = 100
    /// The most bytes of the events in JSON; an event that is longer is alone in its message.
    package static let bytesMax = 1 << 20
    /// The most events examined for one batch, with those that are not asked for.
    package static let spanMax = 1000

    /// The `webhook-id`, the same for the same events of a subscription.
    package let id: UUID
    /// The number of the first event.
    package let first: Int64
    /// The number of events, fewer than lie from first to last when some are not asked for.
    package let count: Int

    package init(id: UUID, first: Int64, count: Int) {
        self.id = id
        self.first = first
        self.count = count
    }
}
