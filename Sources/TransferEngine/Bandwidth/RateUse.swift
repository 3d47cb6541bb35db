/// What an attempt has used of its part of a shared limit of late.
struct RateUse {
    /// What it would use if it were given it; nil when it takes all that it gets.
    private(set) var demand: Int64?
    private var bytes: Int64 = 0
    private var measuredAt: ContinuousClock.Instant?

    /// Less time says little: bytes come in pieces.
    private static let interval: Duration = .milliseconds(400)
    /// What everybody may want, lest one that was still never starts again.
    private static let demandMin: Int64 = 16 * 1024

    /// Notes how many bytes the attempt has moved so far, and what it might have since the last
    /// time.
    mutating func note(_ bytes: Int64, given part: Int64?, at now: ContinuousClock.Instant) {
        guard let measuredAt else {
            self.bytes = bytes
            self.measuredAt = now
            return
        }
        let time = now - measuredAt
        guard time >= Self.interval else { return }
        // Fewer than before when the attempt began anew.
        let rate = Double(max(0, bytes - self.bytes)) / (time / .seconds(1))
        self.bytes = bytes
        self.measuredAt = now
        // A timer that is late is not to be taken for modesty.
        let isHungry = part.map { rate >= 0.9 * Double($0) } ?? true
        // Half as much again, so that one which has become faster is seen to be.
        demand = isHungry ? nil : max(Self.demandMin, Int64(1.5 * rate))
    }
}
