import Testing

@testable import Curl

@Suite
struct PacerTests {
    private let start = ContinuousClock.now

    private func after(_ milliseconds: Int) -> ContinuousClock.Instant {
        start + .milliseconds(milliseconds)
    }

    /// Returns when the pacer lets the transfer continue, in milliseconds since the start.
    private func pause(_ pacer: Pacer, at milliseconds: Int, isPaused: Bool = false) -> Int? {
        pacer.pauseEnd(at: after(milliseconds), isPaused: isPaused).map {
            Int((($0 - start) / .milliseconds(1)).rounded())
        }
    }

    @Test func nothingIsPausedWithoutRate() {
        var pacer = Pacer(rate: nil, at: start)
        pacer.move(.max, at: start)
        #expect(pause(pacer, at: 0) == nil)
    }

    @Test func pausesUntilBytesAreSettled() {
        var pacer = Pacer(rate: 1000, at: start)
        pacer.move(500, at: start)
        #expect(pause(pacer, at: 0) == 500)
        #expect(pause(pacer, at: 400) == 500)
        #expect(pause(pacer, at: 500) == nil)
    }

    @Test func smallDebtIsNotWorthPause() {
        var pacer = Pacer(rate: 1000, at: start)
        pacer.move(20, at: start)
        #expect(pause(pacer, at: 0) == nil)
        pacer.move(1, at: start)
        #expect(pause(pacer, at: 0) == 21)
        // A started pause lasts until nothing is owed.
        #expect(pause(pacer, at: 10, isPaused: true) == 21)
        #expect(pause(pacer, at: 10) == nil)
    }

    @Test func keepsRateOnAverageWhenPausesEndLate() {
        var pacer = Pacer(rate: 1_000_000, at: start)
        var (now, moved) = (0, 0)
        while now < 60_000 {
            pacer.move(64_000, at: after(now))
            moved += 64_000
            // Each pause ends up to five milliseconds late.
            if let end = pause(pacer, at: now) { now = end + moved % 5 }
        }
        #expect((59_900_000...60_200_000).contains(moved * 60_000 / now))
    }

    @Test func idleTimeIsNotSavedUp() {
        var pacer = Pacer(rate: 1000, at: start)
        pacer.move(1000, at: after(60_000))
        #expect(pause(pacer, at: 60_000) == 60_980)
    }

    @Test func raisedRateShortensPause() {
        var pacer = Pacer(rate: 1000, at: start)
        pacer.move(1000, at: start)
        pacer.limit(to: 10_000, at: after(500))
        #expect(pause(pacer, at: 500, isPaused: true) == 550)
    }

    @Test func removedRateEndsPause() {
        var pacer = Pacer(rate: 1, at: start)
        pacer.move(1_000_000, at: start)
        pacer.limit(to: nil, at: after(1))
        #expect(pause(pacer, at: 1, isPaused: true) == nil)
    }

    @Test func loweredRateLengthensPause() {
        var pacer = Pacer(rate: 10_000, at: start)
        pacer.move(1000, at: start)
        pacer.limit(to: 1000, at: after(50))
        #expect(pause(pacer, at: 50, isPaused: true) == 550)
    }

    @Test func bytesBeforeFirstRateAreFree() {
        var pacer = Pacer(rate: nil, at: start)
        pacer.move(1 << 40, at: start)
        pacer.limit(to: 1000, at: after(2000))
        #expect(pause(pacer, at: 2000) == nil)
    }
}
