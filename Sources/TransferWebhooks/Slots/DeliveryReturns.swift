/// The times at which the pairs of a subscription that found no place are claimed again.
///
/// They return one after another, as they can be delivered then: pairs that returned together would
/// find no place again, and events of others would wait behind them. A pure value: time is an
/// argument.
struct DeliveryReturns {
    /// The least distance between two returns.
    private static let distanceMin: Duration = .milliseconds(1)

    private let waitMin: Duration
    private let waitMax: Duration
    /// The wait when nothing is known of the line.
    private var waitUnknown: Duration
    /// The time of the next return.
    private var next: ContinuousClock.Instant
    /// The time from which a pair that finds no place has probably returned.
    private var growsAt: ContinuousClock.Instant

    /// - Parameters:
    ///   - bounds: the least and the most wait.
    ///   - now: the time.
    init(_ bounds: DeliveryBounds, at now: ContinuousClock.Instant) {
        waitMin = bounds.postponementMin
        waitUnknown = waitMin
        waitMax = bounds.postponementMax
        next = now
        growsAt = now + waitUnknown
    }

    /// Takes the next return.
    ///
    /// - Parameters:
    ///   - line: the time after which what waits for a slot is probably started; nil when nothing
    ///     of the subscription waits.
    ///   - distance: the time after which another pair may be started.
    ///   - now: the time.
    /// - Returns: how long to wait for it.
    mutating func wait(
        after line: Duration?,
        distance: Duration,
        at now: ContinuousClock.Instant
    ) -> Duration {
        if line == nil, now >= growsAt {
            waitUnknown = min(waitUnknown * 2, waitMax / 2)
            growsAt = now + waitUnknown
        }
        var place = max(next, now + max(waitMin, line ?? waitUnknown))
        // More than can be served in that time is spread over its second half.
        if place > now + waitMax { place = now + waitMax / 2 }
        next = place + min(max(distance, Self.distanceMin), waitMax / 2)
        return place - now
    }

    /// Records that a pair of the subscription has found a place.
    mutating func foundPlace() { waitUnknown = waitMin }

    /// Returns whether all have returned long ago.
    func areOver(at now: ContinuousClock.Instant) -> Bool { now >= next + waitMax }
}
