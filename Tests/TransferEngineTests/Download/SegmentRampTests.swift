import Testing

@testable import TransferEngine

/// The number of connections that a download is worth.
@Suite struct SegmentRampTests {
    private static let start = ContinuousClock.now
    private static let interval: Duration = .milliseconds(100)

    /// Runs against a line on which `rate` returns the bytes a second for a number of connections.
    ///
    /// All wanted connections up to `slots` are there after `latency`.
    private static func found(
        max: Int = 16,
        slots: Int = 16,
        latency: Duration = .zero,
        triesAll: Bool = false,
        rate: (Int) -> Double
    ) -> (target: Int, peak: Int, atPeak: Duration) {
        var ramp = SegmentRamp(
            connectionsMax: max,
            triesAll: triesAll,
            sampleInterval: interval,
            latency: latency,
            bytes: 0,
            at: start
        )
        var bytes = 0.0
        var targets: [Int] = []
        var flowing = 1
        var (peak, atPeak) = (1, Duration.zero)
        for step in 0..<2400 {
            let time: Duration = .milliseconds(5 * step)
            bytes += rate(flowing) / 200
            ramp.note(bytes: Int64(bytes), flowing: flowing, at: start + time)
            targets.append(ramp.target)
            let asked = targets.dropLast(Int(latency / .milliseconds(5))).last ?? 1
            flowing = min(asked, ramp.target, slots)
            if flowing > peak { (peak, atPeak) = (flowing, time) }
        }
        return (ramp.target, peak, atPeak)
    }

    @Test func allAreUsedWhereEachBringsAsMuch() {
        #expect(Self.found { Double($0) * 1e6 }.target == 16)
        #expect(Self.found(max: 6) { Double($0) * 1e6 }.target == 6)
    }

    @Test func aFullLineKeepsOne() {
        let found = Self.found { _ in 1e8 }
        #expect(found.target == 1)
        #expect(found.peak == 4)
    }

    @Test func itStopsWhereTheLineIsFull() {
        // The line is full with two: four bring less than half of their share, two all of it.
        #expect(Self.found { min(Double($0), 2) * 1e6 }.target == 2)
        // The line is full with four: eight bring nothing more.
        #expect(Self.found { min(Double($0), 4) * 1e6 }.target == 4)
        // The line is full with six: sixteen bring too little, eight half of their share.
        #expect(Self.found { min(Double($0), 6) * 1e6 }.target == 8)
        #expect(Self.found { min(Double($0), 5) * 1e6 }.target == 4)
    }

    /// The line of the connections is slower than a measurement: none waits for another.
    @Test(arguments: [Duration.milliseconds(20), .milliseconds(80), .milliseconds(300)])
    func onALongLineTheNextAreAskedForMeanwhile(latency: Duration) {
        let all = Self.found(latency: latency) { Double($0) * 1e6 }
        #expect(all.target == 16)
        // The first are there when one has been measured, the others a quarter of that and once
        // more the latency later, with a step of five for each decision.
        #expect(all.atPeak <= max(Self.interval, latency) + .milliseconds(25 + 15) + latency)
        let full = Self.found(latency: latency) { _ in 1e8 }
        #expect(full.target == 1)
        #expect(full.peak == 4)
        #expect(Self.found(latency: latency) { min(Double($0), 2) * 1e6 }.target == 2)
        #expect(Self.found(latency: latency) { min(Double($0), 4) * 1e6 }.target == 4)
        #expect(Self.found(latency: latency) { min(Double($0), 6) * 1e6 }.target == 8)
    }

    /// The first response was slow and began with a burst, as of a cache that had to be filled; the
    /// others come at once.
    @Test func aBurstIsNoRate() {
        var ramp = SegmentRamp(
            connectionsMax: 16,
            sampleInterval: Self.interval,
            latency: .milliseconds(300),
            bytes: 0,
            at: Self.start
        )
        var bytes: Int64 = 1_000_000
        ramp.note(bytes: bytes, flowing: 1, at: Self.start + .milliseconds(1))
        #expect(ramp.target == 4)
        for step in 1...400 {
            bytes += 5_000 * Int64(ramp.target)
            ramp.note(
                bytes: bytes,
                flowing: ramp.target,
                at: Self.start + .milliseconds(1 + 5 * step)
            )
        }
        #expect(ramp.target == 16)
    }

    @Test(arguments: [Duration.zero, .milliseconds(80)])
    func whatAClientHasSaidIsTriedFirst(latency: Duration) {
        func found(_ rate: (Int) -> Double) -> (target: Int, peak: Int, atPeak: Duration) {
            Self.found(latency: latency, triesAll: true, rate: rate)
        }
        let all = found { Double($0) * 1e6 }
        #expect(all.target == 16)
        #expect(all.atPeak <= Self.interval + .milliseconds(10))
        let full = found { _ in 1e8 }
        #expect(full.target == 1)
        #expect(full.peak == 16)
        for line in [2, 4, 8] {
            #expect(found { Double(min($0, line)) * 1e6 }.target == line)
        }
    }

    @Test func whatHasNoSlotIsTriedAgainAndNotBlamed() {
        // Without a second connection nothing can be learnt, and the target stays.
        #expect(Self.found(slots: 1) { Double($0) * 1e6 }.target == 4)
    }

    @Test func aDownloadOfOneConnectionAsksForNone() {
        #expect(Self.found(max: 1) { Double($0) * 1e6 }.peak == 1)
    }

    @Test func afterAFailureThereAreNoMore() {
        var ramp = SegmentRamp(
            connectionsMax: 16,
            sampleInterval: Self.interval,
            bytes: 0,
            at: Self.start
        )
        ramp.note(bytes: 1000, flowing: 1, at: Self.start + Self.interval)
        #expect(ramp.target == 4)
        ramp.limit(to: 1)
        #expect(ramp.target == 1)
        for step in 2...20 {
            ramp.note(bytes: 1000 * Int64(step), flowing: 1, at: Self.start + Self.interval * step)
        }
        #expect(ramp.target == 1)
    }
}
