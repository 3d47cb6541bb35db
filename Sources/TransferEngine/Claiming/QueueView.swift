import TransferModel

/// What the loop that claims knows of the queue: how far it has looked, and whether to look again.
struct QueueView {
    /// Looking takes at most this part of the time, however many flows there are.
    private static let shareMax = 0.1
    /// However long a look took, for so long at most no other one is made.
    private static let restMax: Duration = .seconds(1)
    /// The same of looks for which there is no reason but that time has passed; under an old snapshot
    /// they read what was claimed since, and mostly find nothing.
    private static let pollShareMax = 0.02
    private static let pollRestMax: Duration = .seconds(5)

    /// The registration whose shards these are; nil before any.
    var incarnation: Int32?
    /// When the shards are looked at next.
    var shardsDueAt = ContinuousClock.now
    /// Whether somebody has said that there may be flows that were not there before.
    var isStale = true
    /// Whether it is time to look though nobody has said so.
    var isPolled = false
    /// The last flow of a look that did not come to the end.
    private(set) var position: Flow?
    private var restsUntil = ContinuousClock.now
    private var pollRestsUntil = ContinuousClock.now
    private var isWakePlanned = false

    /// Whether there is something to look for, and time for it.
    func mayLook(at now: ContinuousClock.Instant) -> Bool {
        (isStale || position != nil) && now >= restsUntil || isPolled && now >= pollRestsUntil
    }

    /// For how long there is something to look for and no time for it; once for each rest.
    mutating func takeRest(at now: ContinuousClock.Instant) -> Duration? {
        guard isStale || position != nil, now < restsUntil, !isWakePlanned else { return nil }
        isWakePlanned = true
        return restsUntil - now
    }

    /// Has looked; `last` is the last flow found, unless there were no more.
    mutating func looked(
        from begin: ContinuousClock.Instant,
        to end: ContinuousClock.Instant,
        foundUpTo last: Flow?
    ) {
        // What comes while the rest is looked at is found with the next round.
        if position == nil {
            isStale = false
            isPolled = false
        }
        position = last
        isWakePlanned = false
        restsUntil = end + min((end - begin).rest(forShare: Self.shareMax), Self.restMax)
        pollRestsUntil =
            end + min((end - begin).rest(forShare: Self.pollShareMax), Self.pollRestMax)
    }
}
