import Curl
import Testing
import TransferTestSupport

/// Connections that are kept for later transfers, whosesoever they are.
@Suite(.timeLimit(.minutes(5)))
struct CurlKeptConnectionTests {
    /// A whole answer to no request, and the end of a line.
    @Test(arguments: ["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nSTRAY", "\r\n"])
    func whatComesBehindAnAnswerIsNoAnswerToTheNextRequest(stray: String) async throws {
        let exchange = try Exchange()
        let gate = OriginGate()
        exchange.origin.when(
            "/first",
            OriginScript([
                .head(200, [("Content-Length", "5")]), .raw(Array("first".utf8)), .wait(gate),
                .raw(Array(stray.utf8)), .acknowledged,
            ])
        )
        exchange.origin.when("/next", .response(body: .text("right")))
        let first = try await exchange.loop.fetch(exchange.request("/first"), bodyMax: 10)
        #expect(first.body == Array("first".utf8))
        gate.open()
        await exchange.origin.log.wait { $0.requestsOpen == 0 }
        let next = try await exchange.loop.fetch(exchange.request("/next"), bodyMax: 10)
        #expect(next.body == Array("right".utf8))
        #expect(!next.summary.isConnectionReused)
        // The connection that it has got instead is kept.
        let last = try await exchange.loop.fetch(exchange.request("/next"), bodyMax: 10)
        #expect(last.body == Array("right".utf8))
        #expect(last.summary.isConnectionReused)
        let log = exchange.origin.log.now
        #expect(log.requests.map(\.path) == ["/first", "/next", "/next"])
        #expect(log.connectionsAccepted == 2)
    }

    /// A body of which libcurl asks OpenSSL for just the rest, which leaves what else the record
    /// holds behind.
    @Test func whatComesInTheRecordOfAnAnswerIsNoAnswerToTheNextRequest() async throws {
        let authority = try await TestAuthority()
        let server = try await TLSServer(authority.issue(), of: authority, .manual)
        let loop = try CurlLoop(name: "curl-test")
        defer { loop.stop() }
        var request = CurlRequest(url: server.url(), egress: .everywhere)
        request.tls.certificateAuthorities = authority.certificate
        let (head, headArrived) = AsyncStream.makeStream(of: Void.self)
        let first = RecordingSink(whenHeadArrives: { headArrived.finish() })
        loop.start(request, sink: first)
        await server.receivedHeads(1)
        server.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nabcd")
        for await _ in head {}
        server.send("efghHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nSTRAY")
        #expect(await first.result?.code == nil)
        #expect(first.record.body == Array("abcdefgh".utf8))
        let next = RecordingSink()
        loop.start(request, sink: next)
        await server.receivedHeads(2)
        server.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nright")
        #expect(await next.result?.code == nil)
        #expect(next.record.body == Array("right".utf8))
    }

    /// The origin ends each connection that it has kept as soon as the next request is there.
    @Test func aRequestIsRepeatedOnceHoweverManyConnectionsAreKept() async throws {
        let exchange = try Exchange()
        let gate = OriginGate()
        exchange.origin.when("/", OriginScript([.wait(gate)] + OriginScript.response().steps))
        exchange.origin.when("/last", OriginScript([.close]))
        let sinks = (0..<4).map { _ in RecordingSink() }
        for sink in sinks { exchange.loop.start(exchange.request("/"), sink: sink) }
        await exchange.origin.log.arrived(4, at: "/")
        gate.open()
        for sink in sinks { #expect(await sink.result?.code == nil) }
        let last = RecordingSink()
        var request = exchange.request("/last", method: "POST", body: [1])
        request.isReplayable = true
        exchange.loop.start(request, sink: last)
        #expect(await last.result?.code == .connectionLost)
        #expect(exchange.origin.log.now.requests(at: "/last").count == 2)
        #expect(exchange.origin.log.now.connectionsAccepted == 5)
    }

    @Test func aRequestThatMustNotBeRepeatedLeavesNoConnection() async throws {
        let exchange = try Exchange()
        exchange.origin.when("/", .response(201))
        let request = exchange.request("/", method: "POST", body: [1])
        for _ in 0..<20 { _ = try await exchange.loop.fetch(request, bodyMax: 10) }
        await exchange.origin.log.wait { $0.connectionsOpen == 0 }
        #expect(exchange.origin.log.now.connectionsOpen == 0)
        #expect(exchange.origin.log.now.connectionsAccepted == 20)
    }
}
