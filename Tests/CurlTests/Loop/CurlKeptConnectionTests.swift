import FaultProxy
import Synchronization
import Testing
import TransferTestSupport

@testable import Curl

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

    /// Otherwise those that origins have closed would stay until the next transfer.
    @Test func aLoopWithoutTransfersEndsItsConnections() async throws {
        let exchange = try Exchange()
        let loop = try CurlLoop(
            name: "curl-test",
            connectionsMax: 4,
            kept: KeptConnections(countMax: 5, timeMax: .milliseconds(50)),
            names: CurlLoop.namePool()
        )
        defer { loop.stop() }
        exchange.origin.when("/", .response(body: .text("right")))
        let gate = OriginGate()
        exchange.origin.when("/slow", OriginScript([.wait(gate)] + OriginScript.response().steps))
        for round in 1...2 {
            let answer = try await loop.fetch(exchange.request("/"), bodyMax: 10)
            #expect(answer.body == Array("right".utf8))
            #expect(!answer.summary.isConnectionReused)
            await exchange.origin.log.wait { $0.connectionsOpen == 0 }
            #expect(exchange.origin.log.now.connectionsAccepted == round)
        }
        // A transfer that takes longer than they are kept ends no other's connection.
        let slow = RecordingSink()
        loop.start(exchange.request("/slow"), sink: slow)
        await exchange.origin.log.arrived(1, at: "/slow")
        let turn = TurnWatch.interval + .milliseconds(100)
        let start = ContinuousClock.now
        while ContinuousClock.now - start < turn {
            _ = try await loop.fetch(exchange.request("/"), bodyMax: 10)
        }
        #expect(exchange.origin.log.now.connectionsAccepted == 4)
        gate.open()
        #expect(await slow.result?.code == nil)
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

    /// A loop that keeps a connection of HTTP/2 over which nothing comes any more.
    private struct Silence {
        let server: NginxServer
        let proxy: FaultProxy
        let loop: CurlLoop
        let request: CurlRequest

        init() async throws {
            let authority = try await TestAuthority()
            server = try await NginxServer(authority.issue(), of: authority, body: .text("right"))
            proxy = try FaultProxy(to: server.port)
            loop = try CurlLoop(name: "curl-test")
            let url = "https://127.0.0.1:\(proxy.port)/body"
            var request = CurlRequest(url: url, egress: .everywhere)
            request.tls.certificateAuthorities = authority.certificate
            request.httpVersion = .negotiated
            self.request = request
            let first = try await loop.fetch(request, bodyMax: 10)
            #expect(first.summary.httpVersion == "2")
            proxy.silenceConnections()
        }

        /// Sends a request over the connection and waits for its timeout.
        func runOutOfTime() async throws {
            var hasty = request
            hasty.firstByteTimeout = .milliseconds(100)
            let sink = RecordingSink()
            loop.start(hasty, sink: sink)
            let result = try #require(await sink.result)
            #expect(result.code == .timedOut(.firstByte))
            #expect(result.summary.isConnectionReused)
            #expect(proxy.counts.connections == 1)
        }
    }

    private static let hasHTTP2 = NginxServer.isInstalled && CurlLoop.libraryVersion.hasHTTP2

    @Test(.enabled(if: hasHTTP2))
    func aConnectionOverWhichNothingComesIsGivenToNoOther() async throws {
        let silence = try await Silence()
        defer { silence.loop.stop() }
        try await silence.runOutOfTime()
        let next = try await silence.loop.fetch(silence.request, bodyMax: 10)
        #expect(next.body == Array("right".utf8))
        #expect(!next.summary.isConnectionReused)
        // The connection that it has got instead is kept.
        let last = try await silence.loop.fetch(silence.request, bodyMax: 10)
        #expect(last.summary.isConnectionReused)
        #expect(silence.proxy.counts.connections == 2)
    }

    /// One that has more patience may wait for an answer that takes long.
    @Test(.enabled(if: hasHTTP2))
    func aConnectionOverWhichNothingComesStaysForRequestsThatWait() async throws {
        let silence = try await Silence()
        defer { silence.loop.stop() }
        var request = silence.request
        request.inactivityTimeout = .seconds(600)
        let patient = RecordingSink()
        silence.loop.start(request, sink: patient)
        try await silence.runOutOfTime()
        let next = try await silence.loop.fetch(silence.request, bodyMax: 10)
        #expect(next.body == Array("right".utf8))
        #expect(silence.proxy.counts.connections == 2)
        #expect(patient.record.results.isEmpty)
    }

    /// An nginx that passes everything on to the origin of an exchange, behind a proxy.
    private struct Relay {
        let server: NginxServer
        let proxy: FaultProxy
        let exchange: Exchange
        private let certificate: [UInt8]

        init() async throws {
            let authority = try await TestAuthority()
            certificate = authority.certificate
            exchange = try Exchange()
            server = try await NginxServer(
                authority.issue(),
                of: authority,
                body: .empty,
                directives: """
                    location / {
                        proxy_pass http://127.0.0.1:\(exchange.origin.port);
                        proxy_http_version 1.1;
                    }
                    """
            )
            proxy = try FaultProxy(to: server.port)
        }

        /// Starts a request, which offers HTTP/2 or not.
        func start(
            _ path: String,
            method: String = "GET",
            body: [UInt8]? = nil,
            _ version: CurlRequest.HTTPVersion = .negotiated
        ) -> RecordingSink {
            let url = "https://127.0.0.1:\(proxy.port)\(path)"
            var request = CurlRequest(url: url, method: method, body: body, egress: .everywhere)
            request.tls.certificateAuthorities = certificate
            request.httpVersion = version
            let sink = RecordingSink()
            exchange.loop.start(request, sink: sink)
            return sink
        }
    }

    /// Libcurl repeats whatever was sent over a connection that it has given to two requests.
    @Test(.enabled(if: hasHTTP2))
    func aRequestThatMustNotBeRepeatedHasItsConnectionAlone() async throws {
        let relay = try await Relay()
        let origin = relay.exchange.origin
        let gate = OriginGate()
        let posts = Mutex(0)
        origin.when("/post") { _ in
            let isFirst = posts.withLock { count in
                count += 1
                return count == 1
            }
            return isFirst ? OriginScript([.wait(gate)]) : .response()
        }
        origin.when("/get", OriginScript([.wait(gate)]))
        let post = relay.start("/post", method: "POST", body: [1])
        await origin.log.arrived(1, at: "/post")
        let get = relay.start("/get")
        await origin.log.arrived(1, at: "/get")
        #expect(relay.proxy.counts.connections == 2)
        relay.proxy.breakConnections()
        #expect(await post.result?.code == .connectionLost)
        #expect(await get.result?.code == .connectionLost)
        #expect(origin.log.now.requests(at: "/post").count == 1)
    }

    /// Libcurl would add a request that offers HTTP/2, because another connection speaks that.
    @Test(.enabled(if: hasHTTP2))
    func aConnectionThatWaitsForAnAnswerOverHTTP1GetsNoOtherRequest() async throws {
        let relay = try await Relay()
        let origin = relay.exchange.origin
        let gate = OriginGate()
        origin.when("/slow", OriginScript([.wait(gate)] + OriginScript.response().steps))
        origin.when("/quick", .response(body: .text("right")))
        let first = relay.start("/slow", .http1)
        await origin.log.arrived(1, at: "/slow")
        let second = relay.start("/slow")
        await origin.log.arrived(2, at: "/slow")
        let quick = relay.start("/quick")
        #expect(await quick.result?.code == nil)
        #expect(quick.record.body == Array("right".utf8))
        #expect(relay.proxy.counts.connections == 2)
        gate.open()
        #expect(await first.result?.code == nil)
        #expect(await second.result?.code == nil)
    }

    /// Libcurl leaves its buffer to a handle whose connection others still use, and then refuses to
    /// configure it.
    @Test(.enabled(if: hasHTTP2))
    func theHandleOfASharedConnectionServesNoOtherTransfer() async throws {
        let relay = try await Relay()
        let origin = relay.exchange.origin
        let gate = OriginGate()
        origin.when("/slow", OriginScript([.wait(gate)] + OriginScript.response().steps))
        origin.when("/quick", .response(body: .text("right")))
        #expect(await relay.start("/quick").result?.code == nil)
        let slow = relay.start("/slow")
        await origin.log.arrived(1, at: "/slow")
        for _ in 0..<3 { #expect(await relay.start("/quick").result?.code == nil) }
        #expect(relay.proxy.counts.connections == 1)
        gate.open()
        #expect(await slow.result?.code == nil)
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
