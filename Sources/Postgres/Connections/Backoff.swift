/// The length of the pause after failures in a row: doubling, bounded, and varied at random.
struct Backoff {
    /// The pause after the first failure.
    var base: Duration = .milliseconds(50)
    /// The longest pause, so that service resumes within this time after the server is back.
    var limit: Duration = .seconds(2)

    /// Returns the pause before the next attempt.
    ///
    /// - Parameters:
    ///   - failureCount: how many failures there were in a row, from 1.
    ///   - chance: from 0 to 1; spreads the pauses of many instances over half of their length.
    /// - Returns: from half of the full pause to all of it.
    func delay(failureCount: Int, chance: Double) -> Duration {
        let doublings = min(max(failureCount - 1, 0), 16)
        return min(base * (1 << doublings), limit) * (0.5 + 0.5 * chance)
    }
}
