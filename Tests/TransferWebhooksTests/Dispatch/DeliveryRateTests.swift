import Testing

@testable import TransferWebhooks

@Suite struct DeliveryRateTests {
    private let start = ContinuousClock.now

    @Test func spreadsMessagesEvenly() {
        var rate = DeliveryRate(from: start)
        let waits = (0..<4).map { _ in rate.wait(messagesPerSecond: 10, at: start) }
        #expect(waits == [.zero, .milliseconds(100), .milliseconds(200), .milliseconds(300)])
    }

    @Test func neverMakesUpForAPause() {
        var rate = DeliveryRate(from: start)
        _ = rate.wait(messagesPerSecond: 10, at: start)
        let later = start + .seconds(60)
        let waits = (0..<2).map { _ in rate.wait(messagesPerSecond: 10, at: later) }
        #expect(waits == [.zero, .milliseconds(100)])
    }
}
