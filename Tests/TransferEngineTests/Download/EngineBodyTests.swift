import Testing
import TransferEngine
import TransferModel
import TransferTestSupport

/// Downloads whose request has a body.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineBodyTests {
    private static let body = OriginBody.random(seed: 17, size: 1_500_000)
    private static let sent = Array(#"{"path":"/a"}"#.utf8)

    private func submit(
        _ fixture: EngineFixture,
        _ path: String,
        _ change: (inout TaskSubmission) -> Void = { _ in }
    ) async throws -> TransferTask {
        let id = try await fixture.submit(fixture.origin.url(path)) {
            $0.request = TransferRequest(kind: .download, method: "POST", upload: .data(Self.sent))
            $0.headers = [
                HTTPHeader(name: "Content-Type", value: "application/json"),
                HTTPHeader(name: "X-Own", value: "1"),
            ]
            change(&$0)
        }
        return try await fixture.withEngine { _ in try await fixture.ended(id) }
    }

    @Test func theBodyIsSentAndTheResponseBecomesTheFile() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file", .response(body: Self.body))
        let task = try await submit(fixture, "/file")
        #expect(task.state == .completed)
        #expect(try fixture.content(task) == Self.body.bytes)
        let request = try #require(fixture.origin.log.now.requests(at: "/file").first)
        #expect(request.method == "POST")
        #expect(request.body == Self.sent)
        #expect(request["Content-Type"] == "application/json")
        #expect(fixture.origin.log.now.requests.count == 1)
    }

    @Test(arguments: [(303, false), (302, false), (307, true), (308, true)])
    func aRedirectKeepsTheBodyOrLeavesItBehind(status: Int, keeps: Bool) async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/moved", .redirect(status, to: "/file"))
        fixture.origin.when("/file", .response(body: Self.body))
        let task = try await submit(fixture, "/moved")
        #expect(task.state == .completed)
        let request = try #require(fixture.origin.log.now.requests(at: "/file").first)
        #expect(request.method == (keeps ? "POST" : "GET"))
        #expect(request.body == (keeps ? Self.sent : []))
        #expect(request["Content-Type"] == (keeps ? "application/json" : nil))
        #expect(request["X-Own"] == "1")
    }

    @Test(arguments: ["POST", "GET"])
    func theResponseIsNeitherResumedNorDivided(method: String) async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file") { request in
            request.numberAtPath == 1
                ? OriginScript([
                    .head(
                        200,
                        [
                            ("ETag", #""v1""#), ("Accept-Ranges", "bytes"),
                            ("Content-Length", "\(Self.body.count)"),
                        ]
                    ),
                    .body(Self.body, 0..<900_000), .close,
                ])
                : .file(Self.body, etag: #""v1""#, for: request)
        }
        let task = try await submit(fixture, "/file") {
            $0.request.method = method
            $0.options.isIdempotent = true
            $0.options.attemptsMax = 3
            $0.options.retryDelayBase = .milliseconds(100)
        }
        #expect(task.state == .completed)
        #expect(try fixture.content(task) == Self.body.bytes)
        let requests = fixture.origin.log.now.requests(at: "/file")
        #expect(requests.map { $0["Range"] } == [nil, nil])
        #expect(requests.map(\.body) == [Self.sent, Self.sent])
    }
}
