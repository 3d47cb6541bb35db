import Curl
import FaultProxy
import Testing
import TransferTestSupport

@Suite(.timeLimit(.minutes(5)))
struct CurlFirstByteTests {
    @Test func endsTransferWhoseAnswerDoesNotBegin() async throws {
        let exchange = try Exchange()
        let (record, code) = await exchange.run(OriginScript([.wait(OriginGate())])) {
            $0.firstByteTimeout = .milliseconds(50)
        }
        #expect(code == .timedOut(.firstByte))
        #expect(record.heads.isEmpty)
    }

    @Test func informationalAnswerIsNoAnswer() async throws {
        let exchange = try Exchange()
        let hints = Array("HTTP/1.1 103 Early Hints\r\n\r\n".utf8)
        let (_, code) = await exchange.run(OriginScript([.raw(hints), .wait(OriginGate())])) {
            $0.firstByteTimeout = .milliseconds(50)
        }
        #expect(code == .timedOut(.firstByte))
    }

    @Test func answerThatHasBegunIsOnlyInactive() async throws {
        let exchange = try Exchange()
        let start = Array("HTTP/1.1 200 OK\r\n".utf8)
        let (_, code) = await exchange.run(OriginScript([.raw(start), .wait(OriginGate())])) {
            $0.firstByteTimeout = .milliseconds(300)
            $0.inactivityTimeout = .milliseconds(600)
        } again: {
            $0.results.first?.summary.timings.firstByte == .zero
        }
        #expect(code == .timedOut(.inactivity))
    }

    @Test func slowHandshakeIsNotAnsweringLate() async throws {
        // Connecting takes as long as it may, and far longer than the first byte may.
        let silent = try SilentListener()
        let exchange = try Exchange()
        var request = CurlRequest(url: "https://127.0.0.1:\(silent.port)/", egress: .everywhere)
        request.connectTimeout = .milliseconds(300)
        request.firstByteTimeout = .milliseconds(20)
        let sink = RecordingSink()
        exchange.loop.start(request, sink: sink)
        #expect(await sink.result?.code == .timedOut(.connect))
    }

    @Test func countsFromEndOfSlowHandshake() async throws {
        // Each flight of the handshake takes another half second; then no answer comes.
        let authority = try await TestAuthority()
        let server = try await TLSServer(authority.issue(), of: authority, .manual)
        let proxy = try FaultProxy(to: server.port, .slow(delay: .milliseconds(250)))
        let loop = try CurlLoop(name: "curl-test")
        var request = CurlRequest(url: "https://127.0.0.1:\(proxy.port)/", egress: .everywhere)
        request.tls.certificateAuthorities = authority.certificate
        request.firstByteTimeout = .milliseconds(100)
        let sink = RecordingSink()
        loop.start(request, sink: sink)
        let result = try #require(await sink.result)
        guard case .failure(let error) = result else {
            Issue.record("there was an answer")
            return
        }
        #expect(error.code == .timedOut(.firstByte))
        let timings = error.summary.timings
        #expect(timings.tls >= .milliseconds(500))
        #expect(timings.total - timings.requestStart >= .milliseconds(100))
    }

    @Test func countsFromRequestOnKeptConnection() async throws {
        let exchange = try Exchange()
        exchange.origin.when("/", .response())
        _ = try await exchange.loop.fetch(exchange.request("/"), bodyMax: 10)
        let (record, code) = await exchange.run(OriginScript([.wait(OriginGate())])) {
            $0.firstByteTimeout = .milliseconds(50)
        }
        #expect(code == .timedOut(.firstByte))
        guard case .failure(let error) = record.results.first else { return }
        #expect(error.summary.isConnectionReused)
    }

    /// With and without an announced length.
    @Test(arguments: [true, false])
    func uploadIsNoWaitForAnswer(hasLength: Bool) async throws {
        let exchange = try Exchange()
        exchange.origin.when("/", OriginScript([.wait(OriginGate())]))
        var request = exchange.request("/", method: "PUT")
        request.bodySource = DripSource(
            count: 60,
            pause: .milliseconds(10),
            hasLength: hasLength
        )
        request.firstByteTimeout = .milliseconds(300)
        let sink = RecordingSink()
        exchange.loop.start(request, sink: sink)
        let result = try #require(await sink.result)
        // Only the answer, which never comes, was missed: the upload alone took longer.
        #expect(result.code == .timedOut(.firstByte))
        let timings = result.summary.timings
        #expect(timings.requestEnd - timings.requestStart > .milliseconds(300))
        #expect(timings.total - timings.requestEnd >= .milliseconds(300))
        await exchange.origin.log.arrived(1)
        #expect(exchange.origin.log.now.requests.map(\.bodyCount) == [60])
    }

    @Test(arguments: [true, false])
    func countsFromLastByteOfUpload(hasLength: Bool) async throws {
        let exchange = try Exchange()
        exchange.origin.when("/", OriginScript([.wait(OriginGate())]))
        var request = exchange.request("/", method: "PUT")
        request.bodySource = DripSource(count: 10, pause: .milliseconds(1), hasLength: hasLength)
        request.firstByteTimeout = .milliseconds(50)
        let sink = RecordingSink()
        exchange.loop.start(request, sink: sink)
        #expect(await sink.result?.code == .timedOut(.firstByte))
        await exchange.origin.log.arrived(1)
        #expect(exchange.origin.log.now.requests.map(\.bodyCount) == [10])
    }
}
