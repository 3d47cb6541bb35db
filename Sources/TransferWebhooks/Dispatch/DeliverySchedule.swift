/// A schedule that decides how long a message waits after a failed try.
///
/// A pure value: chance is an argument. A message is given up after the try that follows the last
/// wait; it stays in the log and can be replayed.
package struct DeliverySchedule: Equatable, Sendable {
    /// The waits after the first failed try, the second, and so on; never empty.
    package let waits: [Duration]
    /// The longest `Retry-After` that is honoured, unless the schedule's own wait is longer.
    package var retryAfterMax = retryAfterMaxDefault

    /// The part of its scheduled length by which a wait may differ, so that messages that failed
    /// together do not return together.
    package static let jitter = 0.2
    /// The default bound of a `Retry-After`: a day, as the longest wait of the schedule.
    package static let retryAfterMaxDefault: Duration = .seconds(24 * 3600)

    /// The example schedule of Standard Webhooks 1.0; the first try is made at once.
    package static let `default` = DeliverySchedule(waits: [
        .seconds(5), .seconds(5 * 60), .seconds(30 * 60), .seconds(2 * 3600), .seconds(5 * 3600),
        .seconds(10 * 3600), .seconds(14 * 3600), .seconds(20 * 3600), .seconds(24 * 3600),
    ])

    package init(waits: [Duration]) {
        precondition(!waits.isEmpty, "a schedule has at least one wait")
        self.waits = waits
    }

    /// Returns the wait after failed try `number` of a message, counted from 1.
    ///
    /// - Parameters:
    ///   - number: how often the message was tried.
    ///   - retryAfter: what the receiver asked for, if it did; it can only lengthen the wait.
    ///   - chance: uniform in 0..<1; places the wait in its range.
    /// - Returns: how long until the next try; nil when there is none.
    package func wait(
        afterTry number: Int,
        retryAfter: Duration? = nil,
        chance: Double
    ) -> Duration? {
        guard number <= waits.count else { return nil }
        let base = waits[max(number, 1) - 1]
        guard let retryAfter else { return base * (1 - Self.jitter + 2 * Self.jitter * chance) }
        return min(max(retryAfter, base), max(retryAfterMax, base))
    }
}
