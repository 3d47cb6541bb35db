import Testing
import TransferModel

@testable import TransferEngine

@Suite struct RevocationViewTests {
    private static let begin = ContinuousClock.now
    private static let fence = Fence(rawValue: 7)

    /// A claim may be answered after its attempt was taken away, so the revocation is still needed.
    @Test func whatWasNeverHereIsKeptUntilNoAnswerCanTellOfIt() {
        var view = RevocationView()
        #expect(view.ended([Self.fence], running: [], at: Self.begin).isEmpty)
        #expect(view.ended([Self.fence], running: [], at: Self.begin + .seconds(1)).isEmpty)
        #expect(
            view.ended([Self.fence], running: [], at: Self.begin + RevocationView.answerMax)
                == [Self.fence]
        )
    }

    @Test func whatWasHereIsDoneWithAsSoonAsItHasEnded() {
        var view = RevocationView()
        let late = Fence(rawValue: 8)
        #expect(view.ended([Self.fence, late], running: [Self.fence], at: Self.begin).isEmpty)
        #expect(view.ended([Self.fence, late], running: [late], at: Self.begin) == [Self.fence])
        #expect(view.ended([late], running: [], at: Self.begin) == [late])
    }

    @Test func whatHasNotBegunIsDoneWithAtOnce() {
        var view = RevocationView()
        let ended = view.ended([Self.fence], running: [], dropped: [Self.fence], at: Self.begin)
        #expect(ended == [Self.fence])
    }
}
