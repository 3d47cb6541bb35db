import Testing
import TransferModel

@testable import TransferEngine

@Suite struct LookaheadTests {
    private let start = ContinuousClock.now
    private let one = Lane(key: 1)
    private let other = Lane(key: 2)

    private func time(_ milliseconds: Int) -> ContinuousClock.Instant {
        start + .milliseconds(milliseconds)
    }

    @Test func countsWhatHasJustEnded() {
        var lookahead = Lookahead(hostsMax: 10)
        #expect(lookahead.count(start) == 0)
        for moment in 0..<12 { lookahead.ended(at: moment < 8 ? one : other, time(moment)) }
        #expect(lookahead.count(time(12)) == 12)
        #expect(lookahead.count(at: one, time(12)) == 8)
        #expect(lookahead.count(at: other, time(12)) == 4)
        #expect(lookahead.count(at: Lane(key: 3), time(12)) == 0)
    }

    @Test func aStreamIsCountedAtAnyMoment() {
        var lookahead = Lookahead(hostsMax: 10)
        for moment in 0..<100 {
            lookahead.ended(at: one, time(moment))
            if moment >= 16 { #expect(lookahead.count(at: one, time(moment)) == 16) }
        }
    }

    @Test func whatEndedAWhileAgoIsForgotten() {
        var lookahead = Lookahead(hostsMax: 10)
        for _ in 0..<5 { lookahead.ended(at: one, start) }
        #expect(lookahead.count(at: one, time(31)) == 5)
        #expect(lookahead.count(at: one, time(32)) == 0)
        #expect(lookahead.count(time(32)) == 0)
        // Long transfers: one at a time.
        for second in 1..<5 {
            lookahead.ended(at: one, time(second * 1000))
            #expect(lookahead.count(at: one, time(second * 1000)) == 1)
        }
    }

    @Test func remembersSoManyHostsAndNoMore() {
        var lookahead = Lookahead(hostsMax: 3)
        for key in 0..<5 { lookahead.ended(at: Lane(key: Int64(key)), start) }
        #expect((0..<5).map { lookahead.count(at: Lane(key: $0), start) } == [1, 1, 1, 0, 0])
        #expect(lookahead.count(start) == 5)
        // A lane where nothing has ended for a while makes room.
        lookahead.ended(at: Lane(key: 4), time(40))
        #expect(lookahead.count(at: Lane(key: 4), time(40)) == 1)
    }
}
