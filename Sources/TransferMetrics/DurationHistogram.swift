import Synchronization

/// The distribution of durations, from a millisecond to ten minutes.
package final class DurationHistogram: Sendable {
    /// The upper bounds of the buckets, in seconds.
    package static let bounds = [
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600,
    ]

    /// The durations seen so far.
    package struct Value: Equatable, Sendable {
        /// The number of durations up to each bound, and then of all, none cumulative.
        var counts = Array(repeating: Int64(0), count: bounds.count + 1)
        var sum = 0.0

        /// Adds a duration in seconds.
        mutating func add(_ seconds: Double) {
            counts[bounds.firstIndex { seconds <= $0 } ?? bounds.count] += 1
            sum += seconds
        }
    }

    private let state = Mutex(Value())

    package init() {}

    /// Adds a duration.
    package func observe(_ duration: Duration) {
        state.withLock { $0.add(duration / .seconds(1)) }
    }

    /// The durations seen so far.
    package var value: Value { state.withLock { $0 } }
}
