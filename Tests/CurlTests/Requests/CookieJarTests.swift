import Curl
import Testing
import TransferTestSupport

@Suite(.timeLimit(.minutes(5)))
struct CookieJarTests {
    private static let set = OriginScript.response(
        headers: [
            ("Set-Cookie", "visit=1; Path=/; HttpOnly"), ("Set-Cookie", "room=blue; Path=/room"),
            ("Set-Cookie", "safe=no; Path=/; Secure; Domain=example.com"),
        ]
    )

    /// Sends a request and returns the jar after it.
    @discardableResult
    private func send(
        _ path: String,
        _ exchange: Exchange,
        host: String = "127.0.0.1",
        _ jar: CookieJar?,
        headers: [(name: String, value: String)] = []
    ) async throws -> CookieJar? {
        let sink = RecordingSink()
        var request = CurlRequest(
            url: "http://\(host):\(exchange.origin.port)\(path)",
            headers: headers,
            egress: .everywhere
        )
        request.cookies = jar
        exchange.loop.start(request, sink: sink)
        return try #require(await sink.result).get().cookies
    }

    /// Returns the `Cookie` fields of the requests at a path, in order.
    private func cookies(at path: String, _ exchange: Exchange) -> [[String]] {
        exchange.origin.log.now.requests(at: path).map { request in
            request.headers.filter { $0.name.lowercased() == "cookie" }.map(\.value)
        }
    }

    private func exchange() throws -> Exchange {
        let exchange = try Exchange()
        exchange.origin.when("/set", Self.set)
        for path in ["/", "/room/1"] { exchange.origin.when(path, .response()) }
        return exchange
    }

    @Test func cookiesAreSentWhereTheyBelong() async throws {
        let exchange = try exchange()
        let jar = try await send("/set", exchange, CookieJar())
        try await send("/", exchange, jar)
        let same = try await send("/room/1", exchange, jar)
        try await send("/", exchange, host: "localhost", same)
        try await send("/", exchange, same)
        #expect(cookies(at: "/", exchange) == [["visit=1"], [], ["visit=1"]])
        #expect(
            cookies(at: "/room/1", exchange).map { Set($0.joined().split(separator: "; ")) }
                == [["visit=1", "room=blue"]]
        )
    }

    /// A handle of libcurl keeps its cookies when it is reset.
    @Test func anotherTransferHasNone() async throws {
        let exchange = try exchange()
        #expect(try await send("/set", exchange, CookieJar()) != nil)
        #expect(try await send("/", exchange, nil) == nil)
        #expect(try await send("/", exchange, CookieJar())?.description == "0 cookies")
        #expect(try await send("/set", exchange, nil) == nil)
        #expect(cookies(at: "/", exchange) == [[], []])
    }

    @Test func aRequestHasOneFieldForAll() async throws {
        let exchange = try exchange()
        let jar = try await send("/set", exchange, CookieJar())
        #expect(jar?.description == "2 cookies")
        try await send("/", exchange, jar, headers: [("cookie", "own=1"), ("Cookie", "own2=2")])
        try await send("/", exchange, nil, headers: [("Cookie", "own=1")])
        #expect(cookies(at: "/", exchange) == [["visit=1; own=1; own2=2"], ["own=1"]])
    }
}
