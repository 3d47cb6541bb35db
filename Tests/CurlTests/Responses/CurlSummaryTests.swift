import Curl
import Testing
import TransferTestSupport

@Suite(.timeLimit(.minutes(5)))
struct CurlSummaryTests {
    @Test func namesBothEndsOfConnection() async throws {
        let exchange = try Exchange()
        exchange.origin.when("/", .response())
        let first = try await exchange.loop.fetch(exchange.request("/"), bodyMax: 10).summary
        #expect(first.primaryAddress == "127.0.0.1")
        #expect(first.primaryPort == exchange.origin.port)
        #expect(first.localAddress == "127.0.0.1")
        let port = try #require(first.localPort)
        #expect(port > 0 && port != exchange.origin.port)
        let second = try await exchange.loop.fetch(exchange.request("/"), bodyMax: 10).summary
        #expect(second.localPort == port)
    }

    @Test func namesNoEndWithoutConnection() async throws {
        let exchange = try Exchange()
        var request = exchange.request("/")
        request.egress = .nowhere
        let error = await #expect(throws: CurlError.self) {
            try await exchange.loop.fetch(request, bodyMax: 10)
        }
        let summary = try #require(error).summary
        #expect(summary.primaryAddress == nil && summary.primaryPort == nil)
        #expect(summary.localAddress == nil && summary.localPort == nil)
        #expect(summary.timings.requestStart == .zero && summary.timings.requestEnd == .zero)
    }

    @Test(arguments: [0, 5, 200_000])
    func countsHeadersWithoutBodies(bodyBytes: Int) async throws {
        let exchange = try Exchange()
        let head = "HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 3\r\n\r\n"
        exchange.origin.when("/", OriginScript([.raw(Array((head + "abc").utf8))]))
        let body = [UInt8](repeating: 0x61, count: bodyBytes)
        let request = exchange.request("/", method: "POST", body: body)
        let summary = try await exchange.loop.fetch(request, bodyMax: 10).summary
        #expect(summary.responseHeaderBytes == Int64(head.utf8.count))
        #expect(summary.bytesSent == Int64(bodyBytes))
        let seen = try #require(exchange.origin.log.now.requests.first)
        let lines = seen.headers.map { "\($0.name): \($0.value)\r\n" }.joined()
        let sent = "\(seen.method) \(seen.target) HTTP/1.1\r\n\(lines)\r\n"
        #expect(summary.requestHeaderBytes == Int64(sent.utf8.count))
    }

    @Test func timesAreInOrder() async throws {
        let authority = try await TestAuthority()
        let server = try await TLSServer(authority.issue(), of: authority)
        let loop = try CurlLoop(name: "curl-test", certificateFile: authority.certificatePath)
        let request = CurlRequest(url: server.url(host: "localhost"), egress: .everywhere)
        let timings = try await loop.fetch(request, bodyMax: 10).summary.timings
        let times = [
            .zero, timings.nameLookup, timings.connect, timings.tls, timings.requestEnd,
            timings.firstByte, timings.total,
        ]
        #expect(times == times.sorted())
        #expect(timings.nameLookup > .zero)
        // Our clock and libcurl's start some microseconds apart.
        #expect(timings.requestStart >= timings.tls - .milliseconds(5))
        #expect(timings.requestStart <= timings.requestEnd)
    }
}
