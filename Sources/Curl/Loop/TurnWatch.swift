/// Tells for how long a loop could not look at what it watches: a stopped process, a paused machine
/// or a disk that stalled its thread.
///
/// That time is of no origin, and no timeout is to count it. A pure machine: turns and their times
/// go in.
struct TurnWatch {
    /// How often the loop takes a turn at least, while it has anything to watch.
    static let interval: Duration = .seconds(1)
    /// What a busy machine may be late.
    static let slack: Duration = .seconds(1)

    private var last: ContinuousClock.Instant

    /// Starts with a turn.
    init(at now: ContinuousClock.Instant) { last = now }

    /// The loop takes a turn.
    ///
    /// - Returns: the time since the last one, where that was too long; else nil.
    mutating func turn(at now: ContinuousClock.Instant) -> Duration? {
        let gap = now - last
        last = now
        return gap > Self.interval + Self.slack ? gap : nil
    }
}
