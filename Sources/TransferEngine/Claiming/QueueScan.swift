import TransferModel

/// The claiming loop's view of the queue: how far it has looked, and whether to look again.
struct QueueScan {
    /// The largest share of the time that looking takes, however many flows there are.
    private static let shareMax = 0.1
    /// The longest rest after a look, however long the look took.
    private static let restMax: Duration = .seconds(1)
    /// The largest share of the time for looks made only because time has passed; under an old
    /// snapshot they read what was claimed since, and mostly find nothing.
    private static let pollShareMax = 0.02
    private static let pollRestMax: Duration = .seconds(5)
    /// The number of looks of which the shortest says what a look costs.
    private static let durationsMax = 8

    /// The registration that has these shards; nil before any.
    var incarnation: Int32?
    /// The time of the next look at the shards.
    var shardsDueAt = ContinuousClock.now
    /// Whether a notification said that there may be new flows.
    var isStale = true
    /// Whether it is time to look although no notification came.
    var isPolled = false
    /// The last flow found by a look that did not reach the end.
    private(set) var position: Flow?
    /// The hosts that were named since the last look that found everything.
    private var hosts: Set<HostKey> = []
    /// How long the latest looks took.
    ///
    /// On a busy machine most of them also waited for a processor, for which nobody has to rest.
    private var durations: [Duration] = []
    private var restsUntil = ContinuousClock.now
    private var pollRestsUntil = ContinuousClock.now
    private var isWakePlanned = false

    /// Whether there is something to look for and it is time to look.
    func mayLook(at now: ContinuousClock.Instant) -> Bool {
        (isStale || position != nil) && now >= restsUntil || isPolled && now >= pollRestsUntil
    }

    /// Returns the time after which to wake the loop for a look that has to wait although there is
    /// something to look for; once for each rest.
    mutating func takeWakeUp(at now: ContinuousClock.Instant) -> Duration? {
        guard isStale || position != nil, now < restsUntil, !isWakePlanned else { return nil }
        isWakePlanned = true
        return restsUntil - now
    }

    /// Adds hosts at which there may be new flows.
    mutating func name(_ hosts: Set<HostKey>) {
        for host in hosts where self.hosts.count < Signal.hostsMax { self.hosts.insert(host) }
    }

    /// Returns the hosts to look at because a look at everything takes several, and may come by
    /// them only after minutes.
    mutating func takeHosts() -> Set<HostKey> {
        guard position != nil else { return [] }
        defer { hosts = [] }
        return hosts
    }

    /// Records a look; `last` is the last flow found, unless there were no more.
    mutating func looked(
        from begin: ContinuousClock.Instant,
        to end: ContinuousClock.Instant,
        foundUpTo last: Flow?
    ) {
        // Flows that arrive while the remaining ones are looked at are found in the next round.
        if position == nil {
            isStale = false
            isPolled = false
            if last == nil { hosts = [] }
        }
        position = last
        isWakePlanned = false
        durations.append(end - begin)
        if durations.count > Self.durationsMax { durations.removeFirst() }
        let cost = durations.min() ?? .zero
        restsUntil = end + min(cost.rest(forShare: Self.shareMax), Self.restMax)
        pollRestsUntil = end + min(cost.rest(forShare: Self.pollShareMax), Self.pollRestMax)
    }
}
