import TransferModel

/// The counts of tasks that have recently ended, in all and at each host.
///
/// As many tasks are claimed before there is a connection for them: when one becomes free, the next
/// task is there and need not be fetched from the database. Long transfers cause no claims ahead.
struct PrefetchWindow {
    /// The time over which ends are counted; longer than it takes to gather free slots and to claim
    /// for them.
    private static let window: Duration = .milliseconds(16)

    private struct Ends {
        var since: ContinuousClock.Instant
        var count = 0
        var before = 0

        mutating func add(at now: ContinuousClock.Instant) {
            if now - since >= window {
                before = now - since < window * 2 ? count : 0
                count = 0
                since = now
            }
            count += 1
        }

        func inWindow(at now: ContinuousClock.Instant) -> Int {
            let age = now - since
            return age < window ? max(before, count) : age < window * 2 ? count : 0
        }
    }

    private let hostsMax: Int
    private var all: Ends?
    private var ofHost: [HostKey: Ends] = [:]

    /// Creates a prefetch window that remembers at most `hostsMax` hosts.
    init(hostsMax: Int) { self.hostsMax = hostsMax }

    /// Records that a transfer has ended.
    mutating func ended(at hostKey: HostKey, _ now: ContinuousClock.Instant) {
        all = all ?? Ends(since: now)
        all?.add(at: now)
        if ofHost[hostKey] == nil, ofHost.count >= hostsMax {
            ofHost = ofHost.filter { $0.value.inWindow(at: now) > 0 }
            guard ofHost.count < hostsMax else { return }
        }
        ofHost[hostKey, default: Ends(since: now)].add(at: now)
    }

    /// The number of tasks that ended recently.
    func count(_ now: ContinuousClock.Instant) -> Int { all?.inWindow(at: now) ?? 0 }

    /// The number of tasks that ended recently at a host.
    func count(at hostKey: HostKey, _ now: ContinuousClock.Instant) -> Int {
        ofHost[hostKey]?.inWindow(at: now) ?? 0
    }
}
