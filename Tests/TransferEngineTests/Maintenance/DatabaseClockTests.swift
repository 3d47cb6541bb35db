import Foundation
import Testing

@testable import TransferEngine

@Suite struct DatabaseClockTests {
    private static let begin = ContinuousClock.now
    private static let date = Date(timeIntervalSince1970: 1_000_000)

    private var clock: DatabaseClock {
        var clock = DatabaseClock(patience: .seconds(10))
        _ = clock.note(Self.date, asked: Self.begin, answered: Self.begin)
        return clock
    }

    /// Records that the clock shows `seconds` when it is asked `later`.
    private func note(
        _ seconds: TimeInterval,
        later: Duration,
        _ clock: inout DatabaseClock
    ) -> TimeInterval? {
        clock.note(
            Self.date + seconds,
            asked: Self.begin + later,
            answered: Self.begin + later
        )
    }

    private func latest(_ later: Duration, _ clock: DatabaseClock) -> TimeInterval? {
        clock.latest(at: Self.begin + later)?.timeIntervalSince(Self.date)
    }

    @Test func beforeItWasReadItMayShowAnything() {
        #expect(DatabaseClock(patience: .seconds(10)).latest(at: .now) == nil)
    }

    /// A slow answer says only that the clock showed its time at some point in between.
    @Test func aSlowAnswerIsNoJump() {
        var clock = clock
        let end = Self.begin + .seconds(9)
        #expect(clock.note(Self.date + 1, asked: Self.begin, answered: end) == nil)
        #expect(latest(.seconds(9), clock) == 10)
        #expect(note(2, later: .seconds(9), &clock) == nil)
    }

    @Test func setAheadAndBackItMakesNothingDue() {
        var clock = clock
        #expect(note(301, later: .seconds(1), &clock) == 300)
        #expect(latest(.seconds(2), clock) == 2)
        // It is reported once.
        #expect(note(302, later: .seconds(2), &clock) == nil)
        #expect(note(3, later: .seconds(3), &clock) == nil)
        #expect(latest(.seconds(4), clock) == 4)
        #expect(note(304, later: .seconds(4), &clock) == 300)
    }

    @Test func oneThatStaysAheadIsFollowed() {
        var clock = clock
        #expect(note(301, later: .seconds(1), &clock) == 300)
        #expect(note(310, later: .seconds(10), &clock) == nil)
        #expect(latest(.seconds(10), clock) == 10)
        #expect(note(311, later: .seconds(11), &clock) == nil)
        #expect(latest(.seconds(11), clock) == 311)
    }

    @Test func oneThatIsSetBackIsFollowedAtOnce() {
        var clock = clock
        #expect(note(-299, later: .seconds(1), &clock) == -300)
        #expect(latest(.seconds(2), clock) == -298)
        // Forward again is no less a jump.
        #expect(note(2, later: .seconds(2), &clock) == 300)
    }
}
