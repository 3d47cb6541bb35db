import Foundation
import Testing
import TransferEngine
import TransferModel
import TransferStore
import TransferTestSupport

/// Downloads that are interrupted, and the parts of them that are fetched again.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineResumeTests {
    private static let body = OriginBody.random(seed: 21, size: 1_500_000)
    private static let other = OriginBody.random(seed: 22, size: 1_500_000)
    private static let size = body.count
    private static let cut = 900_000
    private static let etag = #""v1""#

    /// Returns a whole answer that breaks off in the middle.
    private static func broken(
        _ fields: [(name: String, value: String)] = [("ETag", etag)]
    ) -> OriginScript {
        OriginScript([
            .head(200, fields + [("Content-Length", "\(size)")]), .body(body, 0..<cut), .close,
        ])
    }

    /// Returns a 206 with these fields and bytes.
    private static func part(
        _ contentRange: String,
        _ bytes: Range<Int>,
        etag: String = Self.etag
    ) -> OriginScript {
        OriginScript([
            .head(
                206,
                [
                    ("ETag", etag), ("Content-Range", contentRange),
                    ("Content-Length", "\(bytes.count)"),
                ]
            ),
            .body(body, bytes),
        ])
    }

    /// Answers the first request with `first` and each further one with the result of `then`.
    private func serve(
        _ fixture: EngineFixture,
        _ first: OriginScript = broken(),
        then: @escaping @Sendable (OriginRequest) -> OriginScript
    ) {
        fixture.origin.when("/file") { request in
            request.numberAtPath == 1 ? first : then(request)
        }
    }

    private func run(_ fixture: EngineFixture) async throws -> TransferTask {
        let id = try await fixture.submit(fixture.origin.url("/file"))
        return try await fixture.withEngine { _ in try await fixture.ended(id) }
    }

    private func offsets(_ fixture: EngineFixture) async throws -> [Int64] {
        try await fixture.events().filter { $0.kind == .taskResumedAtOffset }
            .compactMap { $0.task?.bytesReceived }
    }

    @Test func onlyTheMissingBytesAreFetchedAfterABreak() async throws {
        let fixture = try await EngineFixture()
        serve(fixture) { .file(Self.body, etag: Self.etag, for: $0) }
        let task = try await run(fixture)
        #expect(task.state == .completed)
        #expect(task.bytesReceived == Int64(Self.size))
        #expect(task.result?.httpStatus == 206)
        #expect(task.result?.isLengthVerified == true)
        #expect(try fixture.content(task) == Self.body.bytes)
        let requests = fixture.origin.log.now.requests(at: "/file")
        #expect(requests.count == 2)
        #expect(requests[0]["Range"] == nil)
        #expect(requests[0]["If-Range"] == nil)
        #expect(requests[1]["Range"] == "bytes=\(Self.cut)-")
        #expect(requests[1]["If-Range"] == Self.etag)
        #expect(await fixture.origin.log.bytesSent(at: "/file") == Self.size)
        #expect(try await offsets(fixture) == [Int64(Self.cut)])
        try await fixture.expectNoParts()

        let attempts = try #require(
            try await fixture.stores.tasks.attempts(tenant: fixture.tenant, task: task.id)
        )
        #expect(attempts.map(\.outcome) == [.retried, .completed])
        #expect(attempts.map(\.number) == [1, 2])
        #expect(attempts.map(\.bytesReceived) == [Int64(Self.cut), Int64(Self.size - Self.cut)])
        #expect(attempts.map(\.resumedAtOffset) == [nil, Int64(Self.cut)])
        #expect(attempts[0].failure?.code == .lengthMismatch)
        #expect(attempts.map(\.httpStatus) == [200, 206])
        let metrics = try #require(attempts[1].metrics)
        #expect(metrics.remoteAddress == "127.0.0.1")
        #expect(metrics.httpVersion == "1.1")
        #expect(metrics.total >= metrics.firstByte)
        #expect(metrics.firstByte > .zero)
        #expect(metrics.fetchStart >= .zero)
        #expect(metrics.requestStart <= metrics.requestEnd)
        #expect(metrics.requestEnd <= metrics.total)
        #expect(metrics.requestHeaderBytes > 0)
        #expect(metrics.responseHeaderBytes > 0)
        #expect(metrics.responseBodyBytes == Int64(Self.size - Self.cut))
        #expect(metrics.localAddress == "127.0.0.1")
        #expect(metrics.remotePort ?? 0 > 0)
    }

    @Test func aChangedFileIsFetchedAnew() async throws {
        let fixture = try await EngineFixture()
        serve(fixture) { .file(Self.other, etag: #""v2""#, for: $0) }
        let task = try await run(fixture)
        #expect(try fixture.content(task) == Self.other.bytes)
        #expect(task.result?.etag == #""v2""#)
        #expect(fixture.origin.log.now.requests(at: "/file").count == 2)
        #expect(try await offsets(fixture) == [])
        try await fixture.expectNoParts()
    }

    /// RFC 9110 §14.2: a server may ignore Range.
    @Test func anIgnoredRangeIsFetchedAnew() async throws {
        let fixture = try await EngineFixture()
        serve(fixture) { _ in .response(headers: [("ETag", Self.etag)], body: Self.body) }
        // The limit is for the file, and a part of the file is already there.
        let id = try await fixture.submit(fixture.origin.url("/file")) {
            $0.options.sizeMax = Int64(Self.size)
        }
        let task = try await fixture.withEngine { _ in try await fixture.ended(id) }
        #expect(try fixture.content(task) == Self.body.bytes)
        #expect(task.result?.httpStatus == 200)
        try await fixture.expectNoParts()
    }

    @Test(arguments: [
        // Shifted, overlapping, cut short, of another length, without or with two ranges.
        ("bytes 900001-1499999/1500000", 900_001..<1_500_000),
        ("bytes 899999-1499999/1500000", 899_999..<1_500_000),
        ("bytes 900000-1499998/1500000", 900_000..<1_499_999),
        ("bytes 900000-1499999/1500001", 900_000..<1_500_000),
        ("bytes 0-599999/600000", 0..<600_000),
        ("octets 900000-1499999/1500000", 900_000..<1_500_000),
    ])
    func anotherPartThanWasAskedForIsNotMixedIn(
        contentRange: String,
        bytes: Range<Int>
    ) async throws {
        let fixture = try await EngineFixture()
        serve(fixture) { request in
            request["Range"] == nil
                ? .response(headers: [("ETag", Self.etag)], body: Self.body)
                : Self.part(contentRange, bytes)
        }
        let task = try await run(fixture)
        #expect(try fixture.content(task) == Self.body.bytes)
        let requests = fixture.origin.log.now.requests(at: "/file")
        #expect(requests.map { $0["Range"] != nil } == [false, true, false])
        #expect(task.attempt == 2)
        try await fixture.expectNoParts()
    }

    @Test func theRestOfAnotherVersionIsNotMixedIn() async throws {
        let fixture = try await EngineFixture()
        serve(fixture) { request in
            request["Range"] == nil
                ? .response(headers: [("ETag", #""v2""#)], body: Self.other)
                : Self.part("bytes 900000-1499999/1500000", 900_000..<1_500_000, etag: #""v2""#)
        }
        let task = try await run(fixture)
        #expect(try fixture.content(task) == Self.other.bytes)
        try await fixture.expectNoParts()
    }

    @Test func anUnsatisfiableRangeIsAskedForAsAWhole() async throws {
        let fixture = try await EngineFixture()
        let small = OriginBody.random(seed: 23, size: 1000)
        serve(fixture) { request in
            request["Range"] == nil
                ? .response(headers: [("ETag", #""v2""#)], body: small)
                : .response(416, headers: [("Content-Range", "bytes */1000")])
        }
        let task = try await run(fixture)
        #expect(try fixture.content(task) == small.bytes)
        try await fixture.expectNoParts()
    }

    @Test(arguments: [
        [("ETag", #"W/"v1""#)], [("ETag", "v1")], [],
        // Modified in the second in which it was sent.
        [
            ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ("Date", "Sun, 06 Nov 1994 08:49:38 GMT"),
        ],
    ])
    func withoutAStrongValidatorEachAttemptIsAWholeOne(
        fields: [(name: String, value: String)]
    ) async throws {
        let fixture = try await EngineFixture()
        serve(fixture, Self.broken(fields)) { _ in .response(headers: fields, body: Self.body) }
        let task = try await run(fixture)
        #expect(try fixture.content(task) == Self.body.bytes)
        let requests = fixture.origin.log.now.requests(at: "/file")
        #expect(requests.map { $0["Range"] } == [nil, nil])
        try await fixture.expectNoParts()
    }

    @Test func anOldDateIsAStrongValidator() async throws {
        let fixture = try await EngineFixture()
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        let fields = [("Last-Modified", date), ("Date", "Mon, 07 Nov 1994 08:49:37 GMT")]
        serve(fixture, Self.broken(fields)) { request in
            request["If-Range"] == date
                ? Self.part("bytes 900000-1499999/1500000", 900_000..<1_500_000)
                : .response(headers: fields, body: Self.body)
        }
        let task = try await run(fixture)
        #expect(task.result?.httpStatus == 206)
        #expect(try fixture.content(task) == Self.body.bytes)
    }

    @Test func aFailureOfTheOriginCostsNoByte() async throws {
        let fixture = try await EngineFixture()
        serve(fixture) { request in
            request.numberAtPath == 2
                ? .response(503) : .file(Self.body, etag: Self.etag, for: request)
        }
        let task = try await run(fixture)
        #expect(try fixture.content(task) == Self.body.bytes)
        #expect(task.attempt == 3)
        #expect(await fixture.origin.log.bytesSent(at: "/file") == Self.size)
    }

    @Test func aFinalFailureLeavesOnlyWhatARetryResumes() async throws {
        let fixture = try await EngineFixture()
        serve(fixture) { _ in .response(404) }
        let task = try await run(fixture)
        #expect(task.failure?.httpStatus == 404)
        let parts = try await fixture.parts()
        #expect(parts.count == 1)
        #expect(
            try await fixture.stores.parts.keptParts(parts.values.map { (task.id, $0) })
                == Set(parts.values)
        )
        #expect(try await fixture.stores.parts.abandonedParts().isEmpty)
    }

    @Test func aSuspendedTaskGoesOnWhereItWas() async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        fixture.origin.when("/file") {
            .file(Self.body, etag: Self.etag, for: $0, pause: (Self.cut, gate))
        }
        let id = try await fixture.submit(fixture.origin.url("/file"))
        try await fixture.withEngine { engine in
            try await fixture.received(Self.cut, of: id)
            let task = try await fixture.stores.control.suspendTask(tenant: fixture.tenant, id: id)
                .task
            #expect(task?.state == .suspended)
            // Stopped without a failure, so that the attempt does not count.
            #expect(task?.attempt == 0)
            engine.wake()
            await fixture.origin.log.wait { $0.connectionsOpen == 0 }
            #expect(fixture.files().count == 1)
            gate.open()
            _ = try await fixture.stores.control.resumeTask(tenant: fixture.tenant, id: id)
            engine.wake()
            let ended = try await fixture.ended(id)
            #expect(ended.state == .completed)
            #expect(try fixture.content(ended) == Self.body.bytes)
        }
        #expect(fixture.origin.log.now.requests(at: "/file").last?["Range"] == "bytes=900000-")
        #expect(try await offsets(fixture) == [Int64(Self.cut)])
        try await fixture.expectNoParts()
    }

    /// The old attempt is still writing when the new one is given to the same worker.
    @Test func anAttemptWaitsForTheOneBeforeItToLetGo() async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        fixture.origin.when("/file") {
            .file(Self.body, etag: Self.etag, for: $0, pause: (Self.cut, gate))
        }
        let id = try await fixture.submit(fixture.origin.url("/file"))
        try await fixture.withEngine { engine in
            try await fixture.received(Self.cut, of: id)
            for _ in 0..<3 {
                _ = try await fixture.stores.control.suspendTask(tenant: fixture.tenant, id: id)
                _ = try await fixture.stores.control.resumeTask(tenant: fixture.tenant, id: id)
                engine.wake()
            }
            gate.open()
            let task = try await fixture.ended(id)
            #expect(try fixture.content(task) == Self.body.bytes)
        }
        let requests = fixture.origin.log.now.requests(at: "/file").dropFirst()
        #expect(!requests.isEmpty)
        #expect(requests.allSatisfy { $0["Range"] != nil })
        try await fixture.expectNoParts()
    }

    @Test func whatAStoppedWorkerLeavesTheNextOneGoesOnWith() async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        fixture.origin.when("/file") {
            .file(Self.body, etag: Self.etag, for: $0, pause: (Self.cut, gate))
        }
        let id = try await fixture.submit(fixture.origin.url("/file"))
        try await fixture.withEngine { _ in try await fixture.received(Self.cut, of: id) }
        #expect(try await fixture.task(id).state == .queued)
        #expect(try await fixture.task(id).bytesReceived == Int64(Self.cut))
        gate.open()
        let task = try await fixture.withEngine { _ in try await fixture.ended(id) }
        #expect(try fixture.content(task) == Self.body.bytes)
        #expect(try await offsets(fixture) == [Int64(Self.cut)])
        try await fixture.expectNoParts()
    }

    @Test func resumeDataIsForOneTaskOnce() async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        fixture.origin.when("/file") {
            .file(Self.body, etag: Self.etag, for: $0, pause: (Self.cut, gate))
        }
        let id = try await fixture.submit(fixture.origin.url("/file"))
        let resumeData = ResumeDataID(UUID())
        try await fixture.withEngine { engine in
            try await fixture.received(Self.cut, of: id)
            let cancelled = try await fixture.stores.control.cancelTask(
                tenant: fixture.tenant,
                id: id,
                producing: resumeData
            )
            #expect(cancelled?.state == .cancelled)
            #expect(try await fixture.stores.control.hasResumeData(resumeData))
            engine.wake()
            await fixture.origin.log.wait { $0.connectionsOpen == 0 }
            gate.open()
            // At another path, to which the kept bytes have to be moved.
            let next = try await fixture.submit(fixture.origin.url("/file?signature=2")) {
                $0.resumeData = resumeData
                $0.destination = Destination(path: "deep/below/file", overwrite: false)
            }
            engine.wake()
            let task = try await fixture.ended(next)
            #expect(task.state == .completed)
            #expect(try fixture.content(task) == Self.body.bytes)
        }
        #expect(fixture.origin.log.now.requests(at: "/file").last?["Range"] == "bytes=900000-")
        #expect(try await !fixture.stores.control.hasResumeData(resumeData))
        await #expect(throws: CancellationError.self) {
            try await fixture.submit(fixture.origin.url("/file")) { $0.resumeData = resumeData }
        }
        try await fixture.expectNoParts()
    }

    /// Another file may have the same tag and length.
    @Test func resumeDataIsForItsURLAlone() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when(
            "/file",
            .gated(Self.body, after: Self.cut, OriginGate(), headers: [("ETag", Self.etag)])
        )
        fixture.origin.when("/other") { .file(Self.other, etag: Self.etag, for: $0) }
        let id = try await fixture.submit(fixture.origin.url("/file"))
        let resumeData = ResumeDataID(UUID())
        let task = try await fixture.withEngine { engine in
            try await fixture.received(Self.cut, of: id)
            _ = try await fixture.stores.control.cancelTask(
                tenant: fixture.tenant,
                id: id,
                producing: resumeData
            )
            engine.wake()
            await fixture.origin.log.wait { $0.connectionsOpen == 0 }
            let other = fixture.origin.url("/other")
            let next = try await fixture.submit(other) { $0.resumeData = resumeData }
            engine.wake()
            return try await fixture.ended(next)
        }
        #expect(try fixture.content(task) == Self.other.bytes)
    }

    @Test func whatNobodyGoesOnWithIsRemoved() async throws {
        let fixture = try await EngineFixture()
        serve(fixture) { _ in .response(503) }
        let id = try await fixture.submit(fixture.origin.url("/file"))
        try await fixture.withEngine {
            $0.retryPolicy = RetryPolicy(delayBase: .seconds(3600))
            $0.heartbeatInterval = .milliseconds(20)
        } _: { _ in
            try await eventually("it waits") {
                try await fixture.task(id).state == .waitingForRetry
            }
            #expect(fixture.files().count == 1)
            _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: id)
            try await eventually("the part is gone") { fixture.files().isEmpty }
            try await eventually("and so is its row") {
                try await fixture.stores.parts.abandonedParts().isEmpty
            }
        }
    }
}
