import Testing
import TransferModel

@testable import TransferEngine

@Suite struct ShortagesTests {
    private let start = ContinuousClock.now

    @Test func whatIsOverWhenItIsLookedAtStopsNothing() {
        let shortages = Shortages()
        shortages.note(.storageFull, at: start)
        #expect(shortages.isNone)
        #expect(shortages.due(at: start).now == [.storageFull])
        shortages.probed(.storageFull, isOver: true, at: start)
        #expect(shortages.current.isEmpty)
        #expect(shortages.due(at: start).next == nil)
        // However often it is reported, it is examined once a second.
        shortages.note(.storageFull, at: start)
        #expect(shortages.due(at: start).now.isEmpty)
        #expect(shortages.due(at: start).next == .seconds(1))
    }

    @Test func whatLastsIsLookedAtEverMoreRarely() {
        let shortages = Shortages()
        shortages.note(.storageUnwritable, at: start)
        var now = start
        var waits: [Duration] = []
        for _ in 0..<8 {
            shortages.probed(.storageUnwritable, isOver: false, at: now)
            #expect(shortages.current == [.storageUnwritable])
            let next = shortages.due(at: now).next ?? .zero
            waits.append(next)
            now += next
        }
        #expect(waits == [1, 2, 4, 8, 16, 30, 30, 30].map { Duration.seconds($0) })
        shortages.probed(.storageUnwritable, isOver: true, at: now)
        #expect(shortages.isNone)
    }

    /// The tasks that want descriptors use them up themselves.
    @Test func withoutDescriptorsNothingIsClaimedForAWhile() {
        let shortages = Shortages()
        shortages.note(.descriptorsExhausted, at: start)
        #expect(!shortages.isNone)
        #expect(shortages.due(at: start).now.isEmpty)
        shortages.probed(.descriptorsExhausted, isOver: true, at: start + .seconds(1))
        #expect(shortages.isNone)
        // The shortage returns at once, and the next wait is longer.
        shortages.note(.descriptorsExhausted, at: start + .seconds(2))
        #expect(shortages.due(at: start + .seconds(2)).next == .seconds(2))
    }

    /// A probe is small, and may succeed while every attempt fails.
    @Test func whatIsMetAgainIsToldUntilItIsNot() {
        let shortages = Shortages()
        shortages.note(.storageFull, at: start)
        shortages.probed(.storageFull, isOver: false, at: start)
        shortages.probed(.storageFull, isOver: true, at: start + .seconds(1))
        #expect(shortages.current(at: start + .seconds(1)).isEmpty)
        for second in [10, 25, 40] {
            let now = start + .seconds(second)
            shortages.note(.storageFull, at: now)
            shortages.probed(.storageFull, isOver: true, at: now)
            #expect(shortages.current(at: now + .seconds(15)) == [.storageFull])
            #expect(shortages.isNone)
        }
        #expect(shortages.current(at: start + .seconds(61)).isEmpty)
        // From now on one attempt may fail again without a word.
        shortages.note(.storageFull, at: start + .seconds(70))
        #expect(shortages.current(at: start + .seconds(70)).isEmpty)
    }

    /// One folder of one tenant may fail alone.
    @Test func whatOnlyRenamesWaitForIsToldAndStopsNothing() {
        let shortages = Shortages()
        shortages.renamesWait(for: [.storageFailure])
        #expect(shortages.current == [.storageFailure])
        #expect(shortages.isNone)
        #expect(shortages.confirmed.isEmpty)
        shortages.renamesWait(for: [])
        #expect(shortages.current.isEmpty)
    }
}
