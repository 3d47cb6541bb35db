import Testing

@testable import TransferWebhooks

@Suite struct DeliveryPaceTests {
    private let start = ContinuousClock.now

    @Test func spreadsMessagesEvenly() {
        var pace = DeliveryPace(from: start)
        let waits = (0..<4).map { _ in pace.wait(messagesPerSecond: 10, at: start) }
        #expect(waits == [.zero, .milliseconds(100), .milliseconds(200), .milliseconds(300)])
    }

    @Test func neverMakesUpForAPause() {
        var pace = DeliveryPace(from: start)
        _ = pace.wait(messagesPerSecond: 10, at: start)
        let later = start + .seconds(60)
        let waits = (0..<2).map { _ in pace.wait(messagesPerSecond: 10, at: later) }
        #expect(waits == [.zero, .milliseconds(100)])
    }
}
