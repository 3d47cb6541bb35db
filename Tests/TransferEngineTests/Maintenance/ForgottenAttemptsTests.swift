import Testing
import TransferModel

@testable import TransferEngine

@Suite struct ForgottenAttemptsTests {
    private static let begin = ContinuousClock.now
    private static let fence = Fence(rawValue: 7)

    @Test func withNothingToStoreTheSecondLookIsEnough() {
        var forgotten = ForgottenAttempts()
        #expect(
            forgotten.look([Self.fence], isAnyBeingStored: false, from: Self.begin, at: Self.begin)
                .isEmpty
        )
        #expect(
            forgotten.look([Self.fence], isAnyBeingStored: false, from: Self.begin, at: Self.begin)
                == [Self.fence]
        )
        // It is ended once, until it is seen twice again.
        #expect(
            forgotten.look([Self.fence], isAnyBeingStored: false, from: Self.begin, at: Self.begin)
                .isEmpty
        )
    }

    @Test func whatMayJustBeStoredIsNotForgotten() {
        var forgotten = ForgottenAttempts()
        for _ in 0..<100 {
            #expect(
                forgotten.look(
                    [Self.fence],
                    isAnyBeingStored: true,
                    from: Self.begin,
                    at: Self.begin
                ).isEmpty
            )
        }
        #expect(
            forgotten.look([Self.fence], isAnyBeingStored: false, from: Self.begin, at: Self.begin)
                .isEmpty
        )
        #expect(
            forgotten.look([], isAnyBeingStored: false, from: Self.begin, at: Self.begin).isEmpty
        )
        #expect(
            forgotten.look([Self.fence], isAnyBeingStored: false, from: Self.begin, at: Self.begin)
                .isEmpty
        )
    }

    /// A worker that always has something to store finds it nevertheless.
    @Test func underLoadItTakesLonger() {
        var forgotten = ForgottenAttempts()
        var looks = 0
        while looks < 1000 {
            let now = Self.begin + .seconds(3) * looks
            looks += 1
            if !forgotten.look([Self.fence], isAnyBeingStored: true, from: now, at: now).isEmpty {
                break
            }
        }
        #expect(looks == 21)
    }

    /// A look may read much data, and it is worth little.
    @Test func aLookTakesAHundredthOfTheTime() {
        var forgotten = ForgottenAttempts()
        #expect(forgotten.dueAt == nil)
        let end = Self.begin + .milliseconds(20)
        _ = forgotten.look([], isAnyBeingStored: false, from: Self.begin, at: end)
        #expect(forgotten.dueAt == Self.begin + .seconds(2))
    }

    /// It may have been slow only because it had to wait.
    @Test func aSlowLookDoesNotPutOffTheNextOneForLong() {
        var forgotten = ForgottenAttempts()
        let end = Self.begin + .seconds(10)
        _ = forgotten.look([], isAnyBeingStored: false, from: Self.begin, at: end)
        #expect(forgotten.dueAt == end + .seconds(30))
    }

    /// Of what runs here and is not in the database, only two looks in a row say so.
    @Test func whatRunsIsLostAfterTwoLooksInARow() {
        var forgotten = ForgottenAttempts()
        let other = Fence(rawValue: Self.fence.rawValue + 1)
        #expect(forgotten.look(missing: [Self.fence]).isEmpty)
        #expect(forgotten.look(missing: [other]).isEmpty)
        #expect(forgotten.look(missing: [Self.fence]).isEmpty)
        #expect(forgotten.look(missing: [Self.fence, other]) == [Self.fence])
        #expect(forgotten.look(missing: []).isEmpty)
        #expect(forgotten.look(missing: [other]).isEmpty)
    }
}
