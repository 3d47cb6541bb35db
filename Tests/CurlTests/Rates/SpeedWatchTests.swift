import Testing

@testable import Curl

@Suite
struct SpeedWatchTests {
    private let start = ContinuousClock.now

    private func after(_ milliseconds: Int) -> ContinuousClock.Instant {
        start + .milliseconds(milliseconds)
    }

    /// Returns a watch over a body that moves, at least 100 bytes a second over two seconds.
    private func watch() -> SpeedWatch {
        var watch = SpeedWatch(limit: .init(bytesPerSecond: 100, period: .seconds(2)))
        watch.begin(at: start)
        return watch
    }

    /// Returns the watch's verdict at a time, in milliseconds since the start.
    private func isTooSlow(_ watch: inout SpeedWatch, at milliseconds: Int) -> Bool {
        watch.isTooSlow(at: after(milliseconds))
    }

    @Test func withoutALimitNothingIsTooSlow() {
        var watch = SpeedWatch(limit: nil)
        watch.begin(at: start)
        #expect(watch.deadline(at: start) == nil)
        #expect(!isTooSlow(&watch, at: 1_000_000))
    }

    @Test func eachPeriodNeedsItsBytes() {
        var watch = watch()
        #expect(!isTooSlow(&watch, at: 1999))
        watch.move(200)
        #expect(!isTooSlow(&watch, at: 2000))
        #expect(watch.deadline(at: after(2000)) == after(4000))
        // What was too much in one period does not help the next.
        watch.move(199)
        #expect(isTooSlow(&watch, at: 4000))
    }

    @Test func aLateLookNeedsMore() {
        var watch = watch()
        watch.move(299)
        #expect(isTooSlow(&watch, at: 3000))
    }

    @Test func onlyABodyIsMeasured() {
        var watch = SpeedWatch(limit: .init(bytesPerSecond: 100, period: .seconds(2)))
        #expect(!isTooSlow(&watch, at: 9000))
        #expect(watch.deadline(at: after(9000)) == after(11_000))
        watch.begin(at: after(9000))
        watch.end()
        #expect(!isTooSlow(&watch, at: 19_000))
    }

    @Test func pausesAreNotPartOfAPeriod() {
        var watch = watch()
        watch.pause(true, at: after(1500))
        watch.pause(true, at: after(1600))
        #expect(!isTooSlow(&watch, at: 60_000))
        // However little of the period is left, a pause is looked at once a second.
        #expect(watch.deadline(at: after(60_000)) == after(61_000))
        watch.pause(false, at: after(60_000))
        #expect(!isTooSlow(&watch, at: 60_499))
        #expect(isTooSlow(&watch, at: 60_500))
    }

    @Test func aTimeInWhichNobodyCouldLookIsNotPartOfAPeriod() {
        var watch = watch()
        watch.excuse(.seconds(5), at: after(6000))
        #expect(!isTooSlow(&watch, at: 6000))
        #expect(isTooSlow(&watch, at: 7000))
    }
}
