/// How long to pause after failures in a row: doubling, bounded, and spread by chance.
struct Backoff {
    /// After the first failure.
    var base: Duration = .milliseconds(50)
    /// Never longer, so that service returns within this after the server does.
    var limit: Duration = .seconds(2)

    /// The pause before the next try.
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
