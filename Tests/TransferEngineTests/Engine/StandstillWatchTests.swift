import Testing

@testable import TransferEngine

@Suite struct StandstillWatchTests {
    private static let begin = ContinuousClock.now

    @Test func tellsHowLongNobodyLooked() {
        let watch = StandstillWatch(limit: .seconds(8), at: Self.begin)
        #expect(watch.look(at: Self.begin + .seconds(7)) == nil)
        #expect(watch.look(at: Self.begin + .seconds(15)) == .seconds(8))
        // It is reported once.
        #expect(watch.look(at: Self.begin + .seconds(16)) == nil)
    }

    /// Two lookers at the same time may look in any order.
    @Test func aLateLookTakesNothingBack() {
        let watch = StandstillWatch(limit: .seconds(8), at: Self.begin)
        #expect(watch.look(at: Self.begin + .seconds(5)) == nil)
        #expect(watch.look(at: Self.begin + .seconds(1)) == nil)
        #expect(watch.look(at: Self.begin + .seconds(12)) == nil)
    }
}
