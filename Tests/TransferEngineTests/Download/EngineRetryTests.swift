import Testing
import TransferEngine
import TransferModel
import TransferStore
import TransferTestSupport

/// Downloads that have failed and are retried by their client.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineRetryTests {
    private static let body = OriginBody.random(seed: 31, size: 1_500_000)
    private static let cut = 900_000
    private static let etag = #""v1""#

    /// Returns a whole answer that breaks off in the middle.
    private static func broken(_ fields: [(name: String, value: String)]) -> OriginScript {
        OriginScript([
            .head(200, fields + [("Content-Length", "\(body.count)")]), .body(body, 0..<cut),
            .close,
        ])
    }

    /// Fails after `first`, is retried, and then gets whole answers.
    private func retried(
        _ fixture: EngineFixture,
        _ first: OriginScript,
        _ change: @escaping (inout TaskSubmission) -> Void = { _ in }
    ) async throws -> TransferTask {
        fixture.origin.when("/file") { request in
            request.numberAtPath == 1 ? first : .file(Self.body, etag: Self.etag, for: request)
        }
        let id = try await fixture.submit(fixture.origin.url("/file")) {
            $0.options.attemptsMax = 1
            change(&$0)
        }
        let failed = try await fixture.withEngine { _ in try await fixture.ended(id) }
        #expect(failed.state == .failed)
        let result = try await fixture.stores.retries.retryTask(
            tenant: fixture.tenant,
            id: id,
            hasBody: false
        )
        guard case .answered = result else {
            Issue.record("not retried: \(result)")
            return failed
        }
        // Another process goes on.
        return try await fixture.withEngine { _ in try await fixture.ended(id) }
    }

    @Test(arguments: [nil, "out/file"] as [String?])
    func onlyTheMissingBytesAreFetchedAfterARetry(path: String?) async throws {
        let fixture = try await EngineFixture()
        let task = try await retried(fixture, Self.broken([("ETag", Self.etag)])) { submission in
            submission.destination = path.flatMap { Destination(path: $0, overwrite: false) }
        }
        #expect(task.state == .completed)
        #expect(try fixture.content(task) == Self.body.bytes)
        let requests = fixture.origin.log.now.requests(at: "/file")
        #expect(requests.map { $0["Range"] } == [nil, "bytes=\(Self.cut)-"])
        #expect(requests.last?["If-Range"] == Self.etag)
        #expect(await fixture.origin.log.bytesSent(at: "/file") == Self.body.count)
        let attempts = try await fixture.attempts(task.id)
        #expect(attempts.map(\.outcome) == [.failed, .completed])
        #expect(attempts.map(\.number) == [1, 1])
        #expect(attempts.last?.resumedAtOffset == Int64(Self.cut))
        try await fixture.expectNoParts()
        let kinds = try await fixture.events().map(\.kind)
        #expect(kinds.count { $0 == .sessionEventsFinished } == 2)
        #expect(kinds.last == .sessionEventsFinished)
    }

    @Test func withoutAValidatorItStartsOver() async throws {
        let fixture = try await EngineFixture()
        let task = try await retried(fixture, Self.broken([]))
        #expect(task.state == .completed)
        #expect(try fixture.content(task) == Self.body.bytes)
        #expect(fixture.origin.log.now.requests(at: "/file").map { $0["Range"] } == [nil, nil])
        try await fixture.expectNoParts()
    }

    @Test func whatAFailureLeftGoesWithTheTask() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file") { _ in Self.broken([("ETag", Self.etag)]) }
        var configuration = SessionConfiguration()
        configuration.resultRetention = .milliseconds(1)
        try await fixture.putSession(configuration)
        let id = try await fixture.submit(fixture.origin.url("/file")) {
            $0.options.attemptsMax = 1
        }
        _ = try await fixture.withEngine { _ in try await fixture.ended(id) }
        #expect(try await fixture.parts().count == 1)
        let session = try await fixture.stores.sessions.session(
            tenant: fixture.tenant,
            identifier: EngineFixture.identifier
        )
        let key = try #require(session?.id)
        // The part is given up first, and the task once its file is gone.
        for count in [0, 1] {
            let due = try await fixture.stores.retention.tasksToExpire(
                of: key,
                after: nil,
                holdMax: .seconds(60)
            )
            #expect(due.remains.count == count)
            let parts = try await fixture.stores.parts.abandonedParts()
            #expect(parts.map(\.task) == (count == 0 ? [id] : []))
            try await fixture.stores.parts.forgetAbandonedParts(parts.map(\.fence))
        }
    }
}
