/// How many requests of a tenant may be worked on at once, or how many of its tasks begin, beside
/// other tenants: half as many whenever the processors were busy, and a few more whenever they were
/// not.
///
/// Additive increase and multiplicative decrease, as congestion control does (RFC 5681, §3.1).
package struct WorkLimit: Sendable {
    /// The time between two looks at the processors.
    package static let interval: Duration = .milliseconds(100)
    /// The share of idle time below which the processors are busy.
    static let idleShareMin = 0.4
    /// What an interval adds, as a part of the least: a limit that grew faster would be too high
    /// half of the time.
    static let step = 0.05

    package let min: Int
    package let max: Int
    private var exact: Double
    /// The number at present.
    package var value: Int { Int(exact) }
    private var latest: (use: ProcessorUse, at: ContinuousClock.Instant)?

    package init(min: Int, max: Int) {
        self.min = min
        self.max = max
        exact = Double(max)
    }

    /// Whether it is time to look at the processors again.
    package func isDue(at now: ContinuousClock.Instant) -> Bool {
        latest.map { now - $0.at >= Self.interval } ?? true
    }

    /// Takes note of how busy the processors are while a tenant has so many in hand.
    package mutating func adapt(
        to use: ProcessorUse,
        inHand: Int,
        at now: ContinuousClock.Instant
    ) {
        defer { latest = (use, now) }
        guard let latest, let idle = use.idleShare(since: latest.use) else { return }
        if idle < Self.idleShareMin {
            exact = Swift.max(Double(min), Double(Swift.min(value, inHand)) / 2)
        } else {
            exact = Swift.min(Double(max), exact + Double(min) * Self.step)
        }
    }
}

extension WorkLimit {
    /// The limit at which there is none: more than anybody has in hand.
    private static let none = 4096

    /// One for two processors, because a database on the same machine needs as many.
    package static let large = WorkLimit(min: Swift.max(1, Processors.count / 2), max: none)
    /// The same of requests for little.
    package static let small = WorkLimit(min: 5 * large.min, max: none)
    /// The same of tasks that begin within a few milliseconds.
    package static let beginnings = WorkLimit(min: 8 * large.min, max: none)
}
