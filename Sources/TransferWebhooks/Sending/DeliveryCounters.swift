package import TransferMetrics

/// What has become of the messages that this instance has sent, for those who watch it.
package final class DeliveryCounters: Sendable {
    /// How a try went.
    package enum Outcome: String, Sendable {
        case delivered, failed, abandoned
    }

    /// The tries that have ended.
    package let tries = Counters<Outcome>()
    /// The time that each took.
    package let durations = DurationHistogram()

    package init() {}

    func count(_ message: SentMessage) {
        switch message.outcome {
        case .delivered: tries.add(to: .delivered)
        case .failed: tries.add(to: .failed)
        case .abandoned: tries.add(to: .abandoned)
        }
        durations.observe(message.duration)
    }
}
