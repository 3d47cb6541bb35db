/// Holds one direction of a transfer to a rate, by telling how long to pause.
///
/// A pure state machine: moved bytes and the time go in, the end of a pause comes out. libcurl's
/// own limit is not used. Seen in 7.88.1 (`Curl_pgrsLimitWaitTime`): it treats a new limit as if it
/// had held from the start, so that a fast transfer waits for minutes when slowed down, and it
/// keeps an old wait when a limit is raised.
struct Pacer {
    /// The rate in bytes per second, or nil for no limit.
    private(set) var rate: Int64?
    /// The time by which all bytes moved so far would have been moved at exactly the rate.
    private var settledAt: ContinuousClock.Instant

    /// The debt that is not worth a pause, and the credit that a late end of a pause leaves.
    ///
    /// Timers have a resolution of a millisecond; with this slack a limit of 100 MB/s is still
    /// kept, with about 50 pauses a second.
    static let slack: Duration = .milliseconds(20)

    /// Starts without debt.
    init(rate: Int64?, at now: ContinuousClock.Instant) {
        self.rate = rate
        settledAt = now
    }

    /// Records moved bytes.
    mutating func move(_ count: Int64, at now: ContinuousClock.Instant) {
        guard let rate else { return }
        settledAt = max(settledAt, now - Self.slack) + Self.time(for: Double(count), at: rate)
    }

    /// Returns when to continue, or nil for now; a running pause ends when all debt is settled.
    func pauseEnd(
        at now: ContinuousClock.Instant,
        isPaused: Bool
    ) -> ContinuousClock.Instant? {
        guard rate != nil, settledAt > (isPaused ? now : now + Self.slack) else { return nil }
        return settledAt
    }

    /// Changes the rate; the debt stays the same in bytes and is settled at the new rate.
    mutating func limit(to rate: Int64?, at now: ContinuousClock.Instant) {
        let debt = self.rate.map { max(0, (settledAt - now) / .seconds(1)) * Double($0) } ?? 0
        self.rate = rate
        settledAt = rate.map { now + Self.time(for: debt, at: $0) } ?? now
    }

    private static func time(for bytes: Double, at rate: Int64) -> Duration {
        .seconds(bytes / Double(rate))
    }
}
