package import TransferMetrics

/// What has become of the messages that this instance has sent, for those who watch it.
package final class DeliveryCounters: Sendable {
    /// How a try went.
    package enum Outcome: String, Sendable {
        case delivered, failed, abandoned
        /// Nothing could be sent, because this release cannot read the subscription or the event.
        case unreadable
    }

    /// The tries that have ended.
    package let tries = Counters<Outcome>()
    /// The time that each took.
    package let durations = DurationHistogram()

    package init() {}

    /// Counts what could not be sent because it could not be read.
    func countUnreadable(_ count: Int) {
        if count > 0 { tries.add(Int64(count), to: .unreadable) }
    }

    func count(_ message: SentMessage) {
        switch message.outcome {
        case .delivered: tries.add(to: .delivered)
        case .failed: tries.add(to: .failed)
        case .abandoned: tries.add(to: .abandoned)
        }
        durations.observe(message.duration)
    }
}
