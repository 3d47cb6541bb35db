import Curl
import Foundation
import Postgres
import Testing
import TransferEngine
import TransferModel
import TransferStore
import TransferTestSupport

/// Tasks that wait for an answer of their client, with a running engine.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineQuestionTests {
    @Test func noSocketIsOpenedBeforeTheClientLetsTheTaskBegin() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file", .response(body: .random(seed: 1, size: 1000)))
        let id = try await fixture.submit(fixture.origin.url("/file")) {
            $0.earliestBeginAt = Date() + 3600
            $0.options.asksToBegin = true
        }
        #expect(try await fixture.task(id).state == .scheduled)
        let begin = try await fixture.makeDueSoon()
        let task = try await fixture.withEngine { _ in
            try await eventually("the client is asked") {
                try await fixture.task(id).state == .waitingToBegin
            }
            #expect(Date() >= begin)
            #expect(fixture.origin.log.now.requests.isEmpty)
            _ = try await fixture.stores.questions.beginTask(
                tenant: fixture.tenant,
                id: id,
                with: nil
            )
            return try await fixture.ended(id)
        }
        #expect(task.state == .completed)
        #expect(fixture.origin.log.now.requests.count == 1)
    }

    /// Suspends a running task until its client is asked whether it may begin, which is answered
    /// with another request.
    private func replace(
        _ id: TaskID,
        _ fixture: EngineFixture,
        with url: String,
        _ headers: [HTTPHeader] = []
    ) async throws {
        let control = fixture.stores.control
        _ = try await control.suspendTask(tenant: fixture.tenant, id: id)
        var change = TaskChange()
        change.earliestBeginAt = .some(Date() + 3600)
        _ = try await control.changeTask(tenant: fixture.tenant, id: id, change)
        _ = try await control.resumeTask(tenant: fixture.tenant, id: id)
        let aside = try await TestDatabase.current.connection()
        _ = try await aside.execute("UPDATE delayed SET due_at = now() - interval '1 s'")
        await aside.close()
        _ = try await fixture.stores.queue.promoteDue()
        // The engine may be the one that asks.
        try await eventually("the client is asked") {
            try await fixture.task(id).state == .waitingToBegin
        }
        let parsed = try CurlURL(url)
        let request = NewRequest(
            url: url,
            hostKey: HostKey(host: parsed.host, port: Int(parsed.port)),
            headers: headers
        )
        _ = try await fixture.stores.questions.beginTask(
            tenant: fixture.tenant,
            id: id,
            with: request
        )
    }

    /// Two files may have the same tag and length.
    @Test func noBytesOfTheFormerURLAreKept() async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        defer { gate.open() }
        let first = OriginBody.random(seed: 1, size: 1_500_000)
        let second = OriginBody.random(seed: 2, size: 1_500_000)
        fixture.origin.when("/one") {
            .file(first, etag: #""1""#, for: $0, pause: (900_000, gate))
        }
        fixture.origin.when("/two") { .file(second, etag: #""1""#, for: $0) }
        let id = try await fixture.submit(fixture.origin.url("/one")) {
            $0.options.asksToBegin = true
        }
        let task = try await fixture.withEngine { engine in
            try await fixture.received(900_000, of: id)
            let aside = try await TestDatabase.current.connection()
            try await eventually("the part is kept") {
                try await !aside.execute("SELECT 1 FROM partial").isEmpty
            }
            await aside.close()
            try await replace(id, fixture, with: fixture.origin.url("/two"))
            engine.wake()
            return try await fixture.ended(id)
        }
        #expect(task.state == .completed)
        #expect(try fixture.content(task) == second.bytes)
        #expect(fixture.origin.log.now.requests(at: "/two").map { $0["Range"] } == [nil])
    }

    /// The resource at the former origin is for the former request and its secrets alone.
    @Test(arguments: ResumableOrigin.Dialect.allCases)
    func nothingMoreIsSentToTheFormerOrigin(dialect: ResumableOrigin.Dialect) async throws {
        let fixture = try await EngineFixture()
        let body = OriginBody.random(seed: 3, size: 2_000_000)
        try fixture.place(body.bytes, at: "out/file")
        let gate = OriginGate()
        defer { gate.open() }
        let former = try ResumableOrigin(dialect, [.wait(at: 700_000, gate)])
        let other = try ResumableOrigin(dialect)
        let id = try await fixture.submit(former.url) {
            $0.request = TransferRequest(upload: .file(path: "out/file"))
            $0.headers = [HTTPHeader(name: "X-Key", value: "old")]
            $0.options.asksToBegin = true
            $0.options.resumableUpload =
                switch dialect {
                case .ietf: .ietf
                case .tus: .tus
                case .contentRange: .contentRange
                }
        }
        let task = try await fixture.withEngine { engine in
            try await eventually("a part has arrived") { former.bytesReceived == 700_000 }
            try await fixture.placesAreKept()
            let headers = [HTTPHeader(name: "X-Key", value: "new")]
            try await replace(id, fixture, with: other.url, headers)
            engine.wake()
            return try await fixture.ended(id)
        }
        #expect(task.state == .completed)
        #expect(former.requests.allSatisfy { $0["X-Key"] == "old" })
        #expect(other.requests.allSatisfy { $0["X-Key"] == "new" })
        #expect(other.uploads.count == 1)
        let upload = try #require(other.uploads.last)
        #expect(upload.isComplete)
        #expect(OriginBody.sha256(of: upload.bytes) == body.sha256)
    }
}
