import Testing
import TransferModel

@Suite struct RequestRateTests {
    @Test func aSecondsRequestsMayComeAtOnceAndThenAsTheyAreRefilled() {
        let start = ContinuousClock.now
        var rate = RequestRate(limit: 10, at: start)
        for left in (0..<10).reversed() {
            let state = rate.take(limit: 10, at: start)
            #expect(!state.isExceeded && state.remaining == left)
        }
        #expect(rate.take(limit: 10, at: start).isExceeded)
        #expect(rate.take(limit: 10, at: start + .milliseconds(99)).isExceeded)
        #expect(!rate.take(limit: 10, at: start + .milliseconds(100)).isExceeded)
        #expect(rate.take(limit: 10, at: start + .milliseconds(101)).isExceeded)
        let rested = rate.take(limit: 10, at: start + .seconds(3600))
        #expect(!rested.isExceeded && rested.remaining == 9)
    }

    /// Whatever the moments of the requests, no more pass than the limit and a second's worth.
    @Test(arguments: [1, 3, 1000, 1_000_000])
    func noMorePassThanTheLimit(limit: Int) {
        let start = ContinuousClock.now
        var rate = RequestRate(limit: limit, at: start)
        var passed = 0
        let seconds = 3
        let step = max(1, seconds * 1_000_000_000 / (4 * limit))
        var now = 0
        while now < seconds * 1_000_000_000, passed < 100_000 {
            if !rate.take(limit: limit, at: start + .nanoseconds(now)).isExceeded { passed += 1 }
            now += step
        }
        #expect(passed <= limit * (seconds + 1))
        // What does not fit in the second that is kept is lost.
        #expect(passed >= min(100_000, limit * (seconds - 1)))
    }

    @Test func aLowerLimitHoldsAtOnceAndAClockThatStandsStillGivesNothing() {
        let start = ContinuousClock.now
        var rate = RequestRate(limit: 100, at: start)
        #expect(rate.take(limit: 2, at: start).remaining == 1)
        #expect(!rate.take(limit: 2, at: start - .seconds(5)).isExceeded)
        #expect(rate.take(limit: 2, at: start - .seconds(9)).isExceeded)
    }
}
