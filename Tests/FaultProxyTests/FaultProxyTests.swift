import Curl
import FaultProxy
import Testing
import TransferTestSupport

@Suite(.timeLimit(.minutes(5)))
struct FaultProxyTests {
    private let origin: LoopbackOrigin
    private let loop: CurlLoop
    private let body = OriginBody.random(seed: 1, size: 1_000_000)

    init() throws {
        origin = try LoopbackOrigin()
        loop = try CurlLoop(name: "curl-test")
        origin.when("/", .response(body: body))
        origin.when("/upload") { request in .response(body: .text("\(request.bodyCount)")) }
    }

    private func request(_ proxy: FaultProxy, _ path: String = "/") -> CurlRequest {
        CurlRequest(
            url: "http://127.0.0.1:\(proxy.port)\(path)",
            egress: EgressGuard { _ in true }
        )
    }

    private func fetch(_ faults: Faults) async throws -> BufferedResponse {
        let proxy = try FaultProxy(to: origin.port, faults)
        return try await loop.fetch(request(proxy), bodyMax: body.count)
    }

    private func failure(
        _ faults: Faults,
        inactivityTimeout: Duration = .seconds(30)
    ) async throws -> CurlError {
        let proxy = try FaultProxy(to: origin.port, faults)
        var request = request(proxy)
        request.inactivityTimeout = inactivityTimeout
        let error = await #expect(throws: CurlError.self) {
            try await loop.fetch(request, bodyMax: body.count)
        }
        return try #require(error)
    }

    @Test func passesBytesUnchanged() async throws {
        let proxy = try FaultProxy(to: origin.port)
        for _ in 0..<3 {
            let response = try await loop.fetch(request(proxy), bodyMax: body.count)
            #expect(OriginBody.sha256(of: response.body) == body.sha256)
        }
        #expect(proxy.counts.connections == 1)
        // They are counted after they were sent.
        try await eventually("all bytes are counted") {
            proxy.counts.bytesDown > 3 * body.count
        }
    }

    @Test func slicesBytes() async throws {
        var faults = Faults()
        faults.down.sliceBytesMax = 1
        origin.when("/", .response(body: .text("slowly")))
        #expect(try await fetch(faults).body == Array("slowly".utf8))
    }

    @Test func delaysEachWay() async throws {
        let timings = try await fetch(.slow(delay: .milliseconds(60))).summary.timings
        #expect(timings.firstByte >= .milliseconds(120))
    }

    @Test func capsRate() async throws {
        let timings = try await fetch(.slow(rate: 2_000_000)).summary.timings
        #expect(timings.total >= .milliseconds(400))
    }

    @Test func resetsWithinBody() async throws {
        let error = try await failure(.down(.reset(after: 100_000)))
        #expect(error.code == .connectionLost)
        #expect((90_000..<100_000).contains(error.summary.bytesReceived))
    }

    @Test func closesWithinBody() async throws {
        let error = try await failure(.down(.close(after: 100_000)))
        #expect(error.code == .truncated)
        #expect((90_000..<100_000).contains(error.summary.bytesReceived))
    }

    @Test func stallsWithinBody() async throws {
        let error = try await failure(
            .down(.stall(after: 100_000)),
            inactivityTimeout: .seconds(20)
        )
        #expect(error.code == .timedOut(.inactivity))
        #expect((90_000..<100_000).contains(error.summary.bytesReceived))
    }

    @Test func stallsWithinRequest() async throws {
        let error = try await failure(
            .up(.stall(after: 10)),
            inactivityTimeout: .milliseconds(50)
        )
        #expect(error.code == .timedOut(.inactivity))
        #expect(origin.log.now.requests.isEmpty)
    }

    @Test func passesUploads() async throws {
        let proxy = try FaultProxy(to: origin.port, .slow(delay: .milliseconds(5)))
        var request = request(proxy, "/upload")
        request.method = "PUT"
        request.body = body.bytes
        let response = try await loop.fetch(request, bodyMax: 100)
        #expect(response.body == Array("1000000".utf8))
        #expect(OriginBody.sha256(of: origin.log.now.requests[0].body) == body.sha256)
    }

    @Test func plansEachConnection() async throws {
        let proxy = try FaultProxy(to: origin.port) { connection in
            connection == 1 ? .down(.reset(after: 0)) : Faults()
        }
        var request = request(proxy)
        request.method = "POST"
        await #expect(throws: CurlError.self) {
            try await loop.fetch(request, bodyMax: body.count)
        }
        let response = try await loop.fetch(request, bodyMax: body.count)
        #expect(response.head.status == 200)
        #expect(proxy.counts.connections == 2)
    }

    @Test func tellsOriginThatClientHasLeft() async throws {
        let gate = OriginGate()
        origin.when("/gated", .gated(body, after: 500_000, gate))
        let proxy = try FaultProxy(to: origin.port, .down(.stall(after: 1000)))
        var request = request(proxy, "/gated")
        request.inactivityTimeout = .milliseconds(50)
        await #expect(throws: CurlError.self) {
            try await loop.fetch(request, bodyMax: body.count)
        }
        await origin.log.wait { $0.connectionsOpen == 0 && $0.connectionsAccepted == 1 }
        try await eventually("no connection is left") { proxy.counts.connectionsOpen == 0 }
    }

    @Test func refusesWhenNobodyListens() async throws {
        let port = origin.port
        origin.stop()
        try await eventually("the origin has stopped") {
            await
                (try? loop.fetch(
                    CurlRequest(
                        url: "http://127.0.0.1:\(port)/",
                        egress: EgressGuard { _ in true }
                    ),
                    bodyMax: body.count
                )) == nil
        }
        // The proxy accepts the connection and then resets it, which the client may see this early.
        let code = try await failure(Faults()).code
        #expect(code == .connectionLost || code == .couldNotConnect)
    }

    @Test func endsConnectionsWhenStopped() async throws {
        origin.when("/gated", .gated(body, after: 10, OriginGate()))
        let proxy = try FaultProxy(to: origin.port)
        let request = request(proxy, "/gated")
        async let response = try? loop.fetch(request, bodyMax: body.count)
        await origin.log.sent(10, at: "/gated")
        proxy.stop()
        let answer = await response
        #expect(answer == nil)
        proxy.stop()
    }
}
