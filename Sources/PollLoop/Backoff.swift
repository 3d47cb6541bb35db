/// The length of the pause after failures in a row: doubling, bounded, and varied at random.
package struct Backoff: Sendable {
    private let base: Duration
    private let limit: Duration

    /// Creates a backoff.
    ///
    /// - Parameters:
    ///   - base: the pause after the first failure.
    ///   - limit: the longest pause, so that service resumes within this time after the server is
    ///     back.
    package init(base: Duration = .milliseconds(50), limit: Duration = .seconds(2)) {
        self.base = base
        self.limit = limit
    }

    /// Returns the pause before the next attempt.
    ///
    /// - Parameters:
    ///   - failureCount: how many failures there were in a row, from 1.
    ///   - chance: from 0 to 1; spreads the pauses of many instances over half of their length.
    /// - Returns: from half of the full pause to all of it.
    package func delay(failureCount: Int, chance: Double = .random(in: 0...1)) -> Duration {
        let doublings = min(max(failureCount - 1, 0), 16)
        return min(base * (1 << doublings), limit) * (0.5 + 0.5 * chance)
    }
}
