import Testing
import TransferTestSupport

@testable import Curl

/// Rates that several transfers share.
///
/// Times are compared only in the direction that a slow machine cannot spoil.
@Suite(.timeLimit(.minutes(5)))
struct SharedRateTests {
    @Test func transfersAreTogetherNoFasterThanTheirRate() async throws {
        let exchange = try Exchange()
        let body = OriginBody.random(seed: 11, size: 100_000)
        exchange.origin.when("/", .response(body: body))
        var request = exchange.request("/")
        request.sharedRates = [SharedRate(400_000)]
        let started = ContinuousClock.now
        let sinks = (0..<4).map { _ in RecordingSink() }
        for sink in sinks { exchange.loop.start(request, sink: sink) }
        for sink in sinks {
            #expect(await sink.result?.code == nil)
            #expect(OriginBody.sha256(of: sink.record.body) == body.sha256)
        }
        // The last piece of each causes no wait.
        #expect(ContinuousClock.now - started >= .milliseconds(750))
    }

    @Test func smallBodiesOneAfterAnotherOweTheirBytesTogether() async throws {
        let exchange = try Exchange()
        exchange.origin.when("/", .response(body: .random(seed: 12, size: 10_000)))
        var request = exchange.request("/")
        request.sharedRates = [SharedRate(100_000)]
        let started = ContinuousClock.now
        for _ in 0..<11 { _ = try await exchange.loop.fetch(request, bodyMax: 10_000) }
        #expect(ContinuousClock.now - started >= .milliseconds(900))
    }

    @Test(arguments: [1000, 200_000])
    func sentBytesCountAsReceivedOnesDo(size: Int) async throws {
        let exchange = try Exchange()
        exchange.origin.when("/up", .response())
        exchange.origin.when("/", .response(body: .random(seed: 13, size: 10_000)))
        let rate = SharedRate(Int64(size))
        var upload = exchange.request(
            "/up",
            method: "PUT",
            body: OriginBody.random(seed: 14, size: size).bytes
        )
        upload.sharedRates = [rate]
        let started = ContinuousClock.now
        _ = try await exchange.loop.fetch(upload, bodyMax: 10)
        var download = exchange.request("/")
        download.sharedRates = [rate]
        _ = try await exchange.loop.fetch(download, bodyMax: 10_000)
        #expect(ContinuousClock.now - started >= .milliseconds(900))
    }

    @Test(arguments: [true, false])
    func nothingPassesAtARateOfNothingUntilItIsRaised(isJoinedLater: Bool) async throws {
        let exchange = try Exchange()
        let body = OriginBody.random(seed: 15, size: 1_000_000)
        let gate = OriginGate()
        exchange.origin.when("/", .gated(body, after: 0, gate))
        let rate = SharedRate(0)
        var request = exchange.request("/")
        if !isJoinedLater { request.sharedRates = [rate] }
        request.inactivityTimeout = .seconds(10)
        let sink = RecordingSink()
        let transfer = exchange.loop.start(request, sink: sink)
        await exchange.origin.log.arrived(1)
        if isJoinedLater { transfer.share([rate]) }
        // The loop works in order: once this request is done, the loop has received the rate.
        exchange.origin.when("/after", .response())
        _ = try await exchange.loop.fetch(exchange.request("/after"), bodyMax: 10)
        gate.open()
        try await eventually("the head") { !sink.record.heads.isEmpty }
        // Another transfer, from an origin that stays silent, shows that more time has passed than
        // the origin might be silent; being held back is no inactivity.
        exchange.origin.when("/silent", OriginScript([.wait(OriginGate())]))
        var silent = exchange.request("/silent")
        silent.totalTimeout = .seconds(12)
        await #expect(throws: CurlError.self) {
            _ = try await exchange.loop.fetch(silent, bodyMax: 10)
        }
        let count = sink.record.body.count
        #expect(count == 0)
        #expect(sink.record.results.isEmpty)
        rate.limit(to: 1 << 30)
        transfer.share([rate])
        #expect(await sink.result?.code == nil)
        #expect(OriginBody.sha256(of: sink.record.body) == body.sha256)
    }

    @Test func whatIsOwedStaysOwedInBytes() {
        let rate = SharedRate(0)
        let start = ContinuousClock.now
        rate.move(1000, at: start)
        #expect(!rate.isSettled)
        rate.limit(to: 1)
        let end = rate.pauseEnd(at: start, isPaused: false)
        #expect(end.map { $0 - start > .seconds(990) && $0 - start <= .seconds(1001) } == true)
        rate.limit(to: 1 << 40)
        #expect(rate.pauseEnd(at: .now + .seconds(1), isPaused: true) == nil)
        #expect(rate.isSettled)
    }

    @Test func aTransferThatIsSharedNoMoreGoesOn() async throws {
        let exchange = try Exchange()
        let body = OriginBody.random(seed: 16, size: 1_000_000)
        exchange.origin.when("/", .response(body: body))
        var request = exchange.request("/")
        request.sharedRates = [SharedRate(1), SharedRate(1 << 30)]
        let sink = RecordingSink()
        let transfer = exchange.loop.start(request, sink: sink)
        try await eventually("the first bytes") { !sink.record.body.isEmpty }
        transfer.share([])
        #expect(await sink.result?.code == nil)
        #expect(OriginBody.sha256(of: sink.record.body) == body.sha256)
    }
}
