import Testing

@testable import Curl

@Suite struct TurnWatchTests {
    private let start = ContinuousClock.now

    @Test func ordinaryTurnsAreNotLate() {
        var turns = TurnWatch(at: start)
        for second in 1...100 {
            #expect(turns.turn(at: start + .seconds(second)) == nil)
        }
        // Timers of a busy machine are late.
        #expect(turns.turn(at: start + .milliseconds(101_900)) == nil)
    }

    @Test func tellsHowLongNothingWasLookedAt() {
        var turns = TurnWatch(at: start)
        #expect(turns.turn(at: start + .seconds(1)) == nil)
        #expect(turns.turn(at: start + .seconds(91)) == .seconds(90))
        #expect(turns.turn(at: start + .seconds(92)) == nil)
    }

    @Test func aWaitForTheFirstByteIsExcused() {
        var watch = FirstByteWatch(timeout: .seconds(5))
        watch.begin(at: start, sendsBody: false)
        let end = start + .seconds(100)
        #expect(watch.isOverdue(at: end))
        watch.excuse(.seconds(98), at: end)
        #expect(!watch.isOverdue(at: end))
        #expect(watch.isOverdue(at: end + .seconds(3)))
        // Never into the future.
        watch.excuse(.seconds(1000), at: end)
        #expect(watch.isOverdue(at: end + .seconds(5)))
    }
}
