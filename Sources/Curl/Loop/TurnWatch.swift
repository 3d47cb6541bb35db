/// Measures for how long a loop could not look at what it watches.
///
/// The cause is a stopped process, a paused machine or a disk that stalled its thread. No origin is
/// responsible for that time, and no timeout may count it. A pure state machine: turns and their
/// times go in.
struct TurnWatch {
    /// The longest time between two turns of the loop while it has anything to watch.
    static let interval: Duration = .seconds(1)
    /// The delay that is allowed on a busy machine.
    static let slack: Duration = .seconds(1)

    private var last: ContinuousClock.Instant

    /// Starts the watch with a turn.
    init(at now: ContinuousClock.Instant) { last = now }

    /// Records a turn of the loop.
    ///
    /// - Returns: the time since the last turn if it was too long, or nil.
    mutating func turn(at now: ContinuousClock.Instant) -> Duration? {
        let gap = now - last
        last = now
        return gap > Self.interval + Self.slack ? gap : nil
    }
}
