/// The recent use that an attempt has made of its part of a shared limit.
struct RateUse {
    /// The rate that it would use if it could; nil when it takes all that it gets.
    private(set) var demand: Int64?
    private var bytes: Int64 = 0
    private var measuredAt: ContinuousClock.Instant?

    /// The minimum time between two measurements; less time says little because bytes come in
    /// pieces.
    private static let interval: Duration = .milliseconds(400)
    /// The minimum demand of every attempt, so that one that stood still can start again.
    private static let demandMin: Int64 = 16 * 1024

    /// Records how many bytes the attempt has moved so far, and what it might have moved since the
    /// last time.
    mutating func note(_ bytes: Int64, given part: Int64?, at now: ContinuousClock.Instant) {
        guard let measuredAt else {
            self.bytes = bytes
            self.measuredAt = now
            return
        }
        let time = now - measuredAt
        guard time >= Self.interval else { return }
        // There are fewer bytes than before when the attempt started over.
        let rate = Double(max(0, bytes - self.bytes)) / (time / .seconds(1))
        self.bytes = bytes
        self.measuredAt = now
        // A late timer must not be mistaken for low demand.
        let isHungry = part.map { rate >= 0.9 * Double($0) } ?? true
        // Half as much again, so that an attempt that has become faster is noticed.
        demand = isHungry ? nil : max(Self.demandMin, Int64(1.5 * rate))
    }
}
