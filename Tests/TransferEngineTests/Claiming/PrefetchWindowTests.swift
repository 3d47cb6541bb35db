import Testing
import TransferModel

@testable import TransferEngine

@Suite struct PrefetchWindowTests {
    private let start = ContinuousClock.now
    private let one = HostKey(rawValue: 1)
    private let other = HostKey(rawValue: 2)

    private func time(_ milliseconds: Int) -> ContinuousClock.Instant {
        start + .milliseconds(milliseconds)
    }

    @Test func countsWhatHasJustEnded() {
        var prefetch = PrefetchWindow(hostsMax: 10)
        #expect(prefetch.count(start) == 0)
        for moment in 0..<12 { prefetch.ended(at: moment < 8 ? one : other, time(moment)) }
        #expect(prefetch.count(time(12)) == 12)
        #expect(prefetch.count(at: one, time(12)) == 8)
        #expect(prefetch.count(at: other, time(12)) == 4)
        #expect(prefetch.count(at: HostKey(rawValue: 3), time(12)) == 0)
    }

    @Test func aStreamIsCountedAtAnyMoment() {
        var prefetch = PrefetchWindow(hostsMax: 10)
        for moment in 0..<100 {
            prefetch.ended(at: one, time(moment))
            if moment >= 16 { #expect(prefetch.count(at: one, time(moment)) == 16) }
        }
    }

    @Test func whatEndedAWhileAgoIsForgotten() {
        var prefetch = PrefetchWindow(hostsMax: 10)
        for _ in 0..<5 { prefetch.ended(at: one, start) }
        #expect(prefetch.count(at: one, time(31)) == 5)
        #expect(prefetch.count(at: one, time(32)) == 0)
        #expect(prefetch.count(time(32)) == 0)
        // Long transfers: one at a time.
        for second in 1..<5 {
            prefetch.ended(at: one, time(second * 1000))
            #expect(prefetch.count(at: one, time(second * 1000)) == 1)
        }
    }

    @Test func remembersSoManyHostsAndNoMore() {
        var prefetch = PrefetchWindow(hostsMax: 3)
        for key in 0..<5 { prefetch.ended(at: HostKey(rawValue: Int64(key)), start) }
        #expect(
            (0..<5).map { prefetch.count(at: HostKey(rawValue: $0), start) } == [1, 1, 1, 0, 0]
        )
        #expect(prefetch.count(start) == 5)
        // A host where nothing has ended for a while makes room.
        prefetch.ended(at: HostKey(rawValue: 4), time(40))
        #expect(prefetch.count(at: HostKey(rawValue: 4), time(40)) == 1)
    }
}
