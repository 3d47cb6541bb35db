import Curl
import Testing
import TransferTestSupport

@Suite(.timeLimit(.minutes(5)))
struct CurlSpeedTests {
    @Test func endsABodyThatArrivesTooSlowly() async throws {
        let exchange = try Exchange()
        let body = OriginBody.random(seed: 3, size: 100_000)
        let (record, code) = await exchange.run(.gated(body, after: 10, OriginGate())) {
            $0.speedLimit = .init(bytesPerSecond: 1000, period: .milliseconds(100))
        } again: {
            $0.body.isEmpty
        }
        #expect(code == .timedOut(.lowSpeed))
        #expect(record.body.count == 10)
    }

    @Test func endsABodyThatIsSentTooSlowly() async throws {
        let exchange = try Exchange()
        exchange.origin.when("/", .response())
        let sink = RecordingSink()
        var request = exchange.request("/", method: "PUT")
        request.bodySource = DripSource(count: 1000, pause: .milliseconds(10))
        request.speedLimit = .init(bytesPerSecond: 10_000, period: .milliseconds(100))
        exchange.loop.start(request, sink: sink)
        #expect(await sink.result?.code == .timedOut(.lowSpeed))
    }

    @Test(arguments: [nil, [0x61]] as [[UInt8]?])
    func theWaitForAnAnswerIsNotSlow(body: [UInt8]?) async throws {
        let exchange = try Exchange()
        let (_, code) = await exchange.run(OriginScript([.wait(OriginGate())])) {
            if let body { ($0.method, $0.body) = ("PUT", body) }
            $0.speedLimit = .init(bytesPerSecond: 1000, period: .milliseconds(50))
            $0.inactivityTimeout = .milliseconds(400)
        }
        #expect(code == .timedOut(.inactivity))
    }

    /// At the rate, no period would have a fifth of the bytes that it needs.
    ///
    /// With the pauses, the body takes almost two periods. Each is longer than what a loop may be
    /// late without excusing it.
    @Test func ownPausesAreNotSlow() async throws {
        let exchange = try Exchange()
        let body = OriginBody.random(seed: 5, size: 60_000)
        let (record, code) = await exchange.run(.response(body: body)) {
            $0.sharedRates = [SharedRate(10_000)]
            $0.speedLimit = .init(bytesPerSecond: 200_000, period: .milliseconds(2500))
        } again: {
            $0.body.isEmpty
        }
        #expect(code == nil)
        #expect(record.body.count == 60_000)
    }
}
