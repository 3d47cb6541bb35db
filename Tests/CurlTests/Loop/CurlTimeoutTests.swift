import Curl
import Testing
import TransferTestSupport

@Suite(.timeLimit(.minutes(5)))
struct CurlTimeoutTests {
    @Test func endsTransferWithoutFirstByte() async throws {
        let exchange = try Exchange()
        let (record, code) = await exchange.run(OriginScript([.wait(OriginGate())])) {
            $0.inactivityTimeout = .milliseconds(50)
        }
        #expect(code == .timedOut(.inactivity))
        #expect(record.heads.isEmpty)
    }

    @Test func endsTransferThatStallsWithinHead() async throws {
        let exchange = try Exchange()
        let (_, code) = await exchange.run(
            OriginScript([.raw(Array("HTTP/1.1 200 OK\r\nX-A: ".utf8)), .wait(OriginGate())])
        ) { $0.inactivityTimeout = .milliseconds(50) }
        #expect(code == .timedOut(.inactivity))
    }

    @Test func endsTransferThatStallsWithinBody() async throws {
        let exchange = try Exchange()
        let (record, code) = await exchange.run(.gated(.text("abcd"), after: 2, OriginGate())) {
            $0.inactivityTimeout = .milliseconds(50)
        } again: {
            $0.body.isEmpty
        }
        #expect(code == .timedOut(.inactivity))
        #expect(record.body == Array("ab".utf8))
        guard case .failure(let error) = record.results.first else { return }
        #expect(error.summary.bytesReceived == 2)
    }

    @Test func bytesKeepTransferAlive() async throws {
        // The whole body takes longer than the timeout; no pause between two bytes does. The
        // timeout is longer than what a loop may be late without excusing it.
        let exchange = try Exchange()
        let timeout = Duration.milliseconds(2500)
        let sink = RecordingSink()
        exchange.origin.when("/", OriginScript([.wait(OriginGate())]))
        var request = exchange.request("/", method: "PUT")
        request.bodySource = DripSource(count: 40, pause: .milliseconds(75))
        request.inactivityTimeout = timeout
        exchange.loop.start(request, sink: sink)
        let result = try #require(await sink.result)
        // Only the answer, which never comes, was missed.
        #expect(result.code == .timedOut(.inactivity))
        let timings = result.summary.timings
        #expect(timings.requestEnd - timings.requestStart > timeout)
        await exchange.origin.log.arrived(1)
        #expect(exchange.origin.log.now.requests.map(\.bodyCount) == [40])
    }

    @Test func endsTransferAfterTotalTime() async throws {
        let exchange = try Exchange()
        let (_, code) = await exchange.run(.gated(.text("abcd"), after: 2, OriginGate())) {
            $0.totalTimeout = .milliseconds(50)
        }
        #expect(code == .timedOut(.total))
    }

    @Test func namesConnectTimeout() async throws {
        // The handshake counts as connecting, and this origin never answers one.
        let exchange = try Exchange()
        let silent = try SilentListener()
        let sink = RecordingSink()
        var request = CurlRequest(url: "https://127.0.0.1:\(silent.port)/", egress: .everywhere)
        request.connectTimeout = .milliseconds(50)
        exchange.loop.start(request, sink: sink)
        #expect(await sink.result?.code == .timedOut(.connect))
    }
}
