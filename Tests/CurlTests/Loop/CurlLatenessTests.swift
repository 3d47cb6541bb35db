import Curl
import Dispatch
import Testing
import TransferTestSupport

/// The effects of a loop's own lateness on its transfers.
@Suite(.timeLimit(.minutes(2))) struct CurlLatenessTests {
    private static let body = OriginBody.random(seed: 2, size: 200_000)

    /// Bytes that came while the loop was held up were in time, and so are those that follow soon.
    @Test(arguments: [CurlError.Timeout.inactivity, .firstByte, .total, .lowSpeed])
    func aLoopThatWasHeldUpBlamesNoOrigin(timeout: CurlError.Timeout) async throws {
        let exchange = try Exchange()
        let gate = OriginGate()
        let isFirst = timeout == .firstByte
        exchange.origin.when(
            "/slow",
            isFirst
                ? OriginScript([.wait(gate)] + OriginScript.response(body: Self.body).steps)
                : .gated(Self.body, after: 1000, gate)
        )
        exchange.origin.when("/other", .response(body: .text("x")))
        var request = exchange.request("/slow")
        switch timeout {
        case .inactivity: request.inactivityTimeout = .seconds(8)
        case .firstByte: request.firstByteTimeout = .seconds(8)
        case .total, .connect: request.totalTimeout = .seconds(8)
        case .lowSpeed:
            request.speedLimit = .init(bytesPerSecond: 100, period: .seconds(8))
        }
        let slow = RecordingSink()
        exchange.loop.start(request, sink: slow)
        await exchange.origin.log.arrived(1, at: "/slow")

        // Another transfer's sink holds the loop up for longer than that.
        let held = DispatchGroup()
        held.enter()
        let other = RecordingSink(whenHeadArrives: { held.wait() })
        exchange.loop.start(exchange.request("/other"), sink: other)
        await exchange.origin.log.arrived(1, at: "/other")
        let start = ContinuousClock.now
        try await eventually("the loop was held up for long") { .now - start > .seconds(10) }
        held.leave()
        _ = await other.result
        gate.open()
        _ = try #require(await slow.result).get()
        #expect(slow.record.body.count == Self.body.count)
    }
}
