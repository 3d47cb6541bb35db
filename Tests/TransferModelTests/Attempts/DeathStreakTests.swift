import Testing
import TransferModel

@Suite struct DeathStreakTests {
    private static func count(
        _ bytesReached: Int64,
        after predecessors: [(isLost: Bool, bytesReached: Int64)]
    ) -> Int {
        DeathStreak(
            bytesReached: bytesReached,
            after: predecessors.map {
                DeathStreak.Predecessor(isLost: $0.isLost, bytesReached: $0.bytesReached)
            }
        ).count
    }

    @Test func deathsInARowAreCounted() {
        #expect(Self.count(0, after: []) == 1)
        #expect(Self.count(0, after: [(true, 0), (true, 0), (true, 0), (true, 0)]) == 5)
    }

    @Test func attemptsThatEndedOtherwiseAreNoDeaths() {
        #expect(Self.count(0, after: [(false, 0), (false, 0), (false, 0), (false, 0)]) == 1)
        #expect(Self.count(0, after: [(true, 0), (false, 0), (true, 0), (true, 0)]) == 2)
    }

    @Test func progressEndsTheStreak() {
        #expect(Self.count(500, after: [(true, 400), (true, 300), (true, 200), (true, 100)]) == 1)
        // Bytes that were there before and came again are no progress.
        #expect(Self.count(300, after: [(true, 200), (true, 300), (true, 100), (true, 50)]) == 3)
        #expect(Self.count(200, after: [(true, 200), (true, 300), (true, 100), (true, 50)]) == 3)
    }

    @Test func whatGetsNoFurtherThanBeforeIsNoProgress() {
        #expect(Self.count(9, after: [(true, 9), (true, 9), (true, 9), (true, 9)]) == 5)
    }
}
