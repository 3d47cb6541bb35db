import Testing
import TransferTestSupport

@Suite struct LoopbackOriginTests {
    @Test func oneThatHasStoppedHoldsNothing() throws {
        weak var origin: LoopbackOrigin?
        do {
            let new = try LoopbackOrigin()
            origin = new
            new.when("/") { _ in .response(new.log.now.requests.isEmpty ? 200 : 503) }
            new.stop()
        }
        #expect(origin == nil)
    }
}
