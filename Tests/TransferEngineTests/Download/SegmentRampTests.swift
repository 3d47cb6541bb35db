import Testing

@testable import TransferEngine

/// The number of connections that a download is worth.
@Suite struct SegmentRampTests {
    private static let start = ContinuousClock.now
    private static let interval: Duration = .milliseconds(100)

    /// Runs against a line on which `rate` returns the bytes a second for a number of connections.
    ///
    /// All wanted connections up to `slots` are there at once.
    private static func found(
        max: Int = 16,
        slots: Int = 16,
        rate: (Int) -> Double
    ) -> (target: Int, peak: Int) {
        var ramp = SegmentRamp(connectionsMax: max, sampleInterval: interval, bytes: 0, at: start)
        var bytes = 0.0
        var peak = 1
        for step in 1...600 {
            let flowing = min(ramp.target, slots)
            peak = Swift.max(peak, flowing)
            bytes += rate(flowing) / 50
            ramp.note(
                bytes: Int64(bytes),
                flowing: flowing,
                at: start + .milliseconds(20 * step)
            )
        }
        return (ramp.target, peak)
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
