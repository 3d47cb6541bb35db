import Foundation
import Testing
import TransferEngine
import TransferModel
import TransferStore
import TransferTestSupport

/// What several servers of one file send.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineMirrorBytesTests {
    private static let body = OriginBody.random(seed: 77, size: 1_500_000)
    private static let other = OriginBody.random(seed: 78, size: 1_500_000)
    private static let cut = 900_000
    private static let etag = #""v1""#

    /// Returns a whole answer that breaks off in the middle.
    private static func broken(
        _ etag: String? = etag,
        after count: Int = cut
    ) -> OriginScript {
        let fields: [(name: String, value: String)] = etag.map { [("ETag", $0)] } ?? []
        return OriginScript([
            .head(200, fields + [("Content-Length", "\(body.count)")]), .body(body, 0..<count),
            .close,
        ])
    }

    @Test func noByteIsFetchedTwiceFromMirrorsOfOneTag() async throws {
        let stage = try await MirrorStage(3)
        stage.origins[0].when("/file", Self.broken())
        stage.origins[1].when("/file", .response(503))
        stage.origins[2].when("/file") { .file(Self.body, etag: Self.etag, for: $0) }
        let task = try await stage.download()
        try await stage.expect(Self.body, in: task)
        #expect(await stage.bytesSent == [Self.cut, 0, Self.body.count - Self.cut])
        for requests in stage.requests.dropFirst() {
            #expect(requests.map { $0["Range"] } == ["bytes=\(Self.cut)-"])
            #expect(requests.map { $0["If-Range"] } == [Self.etag])
        }
        #expect(try await stage.fixture.attempts(task.id).last?.resumedAtOffset == Int64(Self.cut))
    }

    /// Servers that know what they have, that ignore `If-Range`, and that have nothing to tell
    /// versions by.
    @Test(arguments: ["knows", "ignores", "tells nothing", "dates"])
    func bytesOfTwoVersionsAreNeverMixed(server: String) async throws {
        let stage = try await MirrorStage(2)
        let date = "Tue, 15 Nov 1994 12:45:26 GMT"
        let rest: [(name: String, value: String)] = [
            ("Content-Length", "\(Self.other.count - Self.cut)"),
            (
                "Content-Range",
                "bytes \(Self.cut)-\(Self.other.count - 1)/\(Self.other.count)"
            ),
        ]
        let dated = OriginScript([
            .head(
                200,
                [
                    ("Last-Modified", date), ("Date", "Wed, 16 Nov 1994 12:45:26 GMT"),
                    ("Content-Length", "\(Self.body.count)"),
                ]
            ), .body(Self.body, 0..<Self.cut), .close,
        ])
        stage.origins[0].when("/file", server == "dates" ? dated : Self.broken())
        stage.origins[1].when("/file") { request in
            guard server != "knows" else { return .file(Self.other, etag: #""v2""#, for: request) }
            guard request["Range"] != nil else { return .response(body: Self.other) }
            let fields: [(name: String, value: String)] =
                switch server {
                case "ignores": [("ETag", #""v2""#)]
                case "dates": [("Last-Modified", date)]
                default: []
                }
            return OriginScript([
                .head(206, rest + fields), .body(Self.other, Self.cut..<Self.other.count),
            ])
        }
        let task = try await stage.download()
        // What can only be resumed at the URL is removed after the task's end.
        try await stage.expect(Self.other, in: task, leavesParts: server == "dates")
    }

    /// What a URL leads to may be another server each time, or the one of the URL itself.
    @Test(arguments: ["tells nothing", "dates", "is that of the URL"])
    func bytesOfTwoTargetsOfRedirectsAreNeverMixed(server: String) async throws {
        let fixture = try await EngineFixture()
        let away = try LoopbackOrigin()
        defer { away.stop() }
        let fields: [(name: String, value: String)] =
            server == "dates"
            ? [
                ("Last-Modified", "Tue, 15 Nov 1994 12:45:26 GMT"),
                ("Date", "Wed, 16 Nov 1994 12:45:26 GMT"),
            ] : [("ETag", Self.etag)]
        fixture.origin.when(
            "/first",
            OriginScript([
                .head(200, fields + [("Content-Length", "\(Self.body.count)")]),
                .body(Self.body, 0..<Self.cut), .close,
            ])
        )
        let serve: @Sendable (OriginRequest) -> OriginScript = { request in
            guard request["Range"] != nil else { return .response(body: Self.other) }
            let part: [(name: String, value: String)] = [
                ("Content-Length", "\(Self.other.count - Self.cut)"),
                (
                    "Content-Range",
                    "bytes \(Self.cut)-\(Self.other.count - 1)/\(Self.other.count)"
                ),
            ]
            return OriginScript([
                .head(206, part + (server == "dates" ? fields : [])),
                .body(Self.other, Self.cut..<Self.other.count),
            ])
        }
        away.when("/second", serve)
        let second = away.url("/second")
        fixture.origin.when("/file") { request in
            guard request.numberAtPath > 1 else { return .redirect(to: "/first") }
            return server == "is that of the URL" ? serve(request) : .redirect(to: second)
        }
        let id = try await fixture.submit(fixture.origin.url("/file"))
        let task = try await fixture.withEngine { _ in try await fixture.ended(id) }
        #expect(task.state == .completed)
        #expect(OriginBody.sha256(of: try fixture.content(task)) == Self.other.sha256)
        try await fixture.expectNoParts()
    }

    /// Another server that a redirect leads to sends only the rest, if it has the same tag.
    @Test func whatARedirectLedToIsResumedByItsTag() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/first", Self.broken())
        fixture.origin.when("/second") { .file(Self.body, etag: Self.etag, for: $0) }
        fixture.origin.when("/file") {
            .redirect(to: $0.numberAtPath == 1 ? "/first" : "/second")
        }
        let id = try await fixture.submit(fixture.origin.url("/file"))
        let task = try await fixture.withEngine { _ in try await fixture.ended(id) }
        #expect(OriginBody.sha256(of: try fixture.content(task)) == Self.body.sha256)
        #expect(try await fixture.attempts(id).last?.resumedAtOffset == Int64(Self.cut))
    }

    /// Begun at the URL, and continued where it has led to once.
    @Test func whatARedirectHasAddedToIsResumedOnlyByItsTag() async throws {
        let fixture = try await EngineFixture()
        let early = 600_000
        /// Returns the head of an answer with the bytes from `start` on.
        func rest(
            from start: Int,
            _ fields: [(name: String, value: String)] = []
        ) -> OriginScript.Step {
            let end = Self.body.count
            return .head(
                206,
                fields + [
                    ("Content-Length", "\(end - start)"),
                    ("Content-Range", "bytes \(start)-\(end - 1)/\(end)"),
                ]
            )
        }
        let added = OriginScript([
            rest(from: early, [("ETag", Self.etag)]), .body(Self.body, early..<Self.cut), .close,
        ])
        let untold = OriginScript([
            rest(from: Self.cut), .body(Self.other, Self.cut..<Self.other.count),
        ])
        fixture.origin.when("/led", added)
        fixture.origin.when("/file") { request in
            switch request.numberAtPath {
            case 1: Self.broken(after: early)
            case 2: .redirect(to: "/led")
            case 3: untold
            default: .response(body: Self.other)
            }
        }
        let id = try await fixture.submit(fixture.origin.url("/file"))
        let task = try await fixture.withEngine { _ in try await fixture.ended(id) }
        #expect(OriginBody.sha256(of: try fixture.content(task)) == Self.other.sha256)
        #expect(
            fixture.origin.log.now.requests(at: "/file").map { $0["Range"] }
                == [nil, "bytes=\(early)-", "bytes=\(Self.cut)-", nil]
        )
    }

    /// Two servers may have different files of one date, also after a client's retry.
    @Test(arguments: [true, false])
    func noDateOfAMirrorIsTakenForThatOfTheURL(isRetried: Bool) async throws {
        let stage = try await MirrorStage(2)
        let fixture = stage.fixture
        let fields: [(name: String, value: String)] = [
            ("Last-Modified", "Tue, 15 Nov 1994 12:45:26 GMT"),
            ("Date", "Wed, 16 Nov 1994 12:45:26 GMT"),
        ]
        stage.origins[0].when("/file", .response(503))
        stage.origins[1].when(
            "/file",
            OriginScript([
                .head(200, fields + [("Content-Length", "\(Self.body.count)")]),
                .body(Self.body, 0..<Self.cut), .close,
            ])
        )
        let serve: @Sendable (OriginRequest) -> OriginScript = { request in
            guard request["Range"] != nil else { return .response(body: Self.other) }
            return OriginScript([
                .head(
                    206,
                    fields + [
                        ("Content-Length", "\(Self.other.count - Self.cut)"),
                        (
                            "Content-Range",
                            "bytes \(Self.cut)-\(Self.other.count - 1)/\(Self.other.count)"
                        ),
                    ]
                ), .body(Self.other, Self.cut..<Self.other.count),
            ])
        }
        if !isRetried {
            stage.origins[0].when("/file") { request in
                request.numberAtPath == 1 ? .response(503) : serve(request)
            }
        }
        let id = try await stage.submit { if isRetried { $0.options.attemptsMax = 1 } }
        var task = try await fixture.withEngine { _ in try await fixture.ended(id) }
        if isRetried {
            #expect(task.state == .failed)
            stage.origins[0].when("/file", serve)
            _ = try await fixture.stores.retries.retryTask(
                tenant: fixture.tenant,
                id: id,
                hasBody: false
            )
            task = try await fixture.withEngine { _ in try await fixture.ended(id) }
        }
        try await stage.expect(Self.other, in: task)
    }

    /// A mirror that is too slow is left, with what it has sent.
    @Test func aSlowMirrorIsLeft() async throws {
        let stage = try await MirrorStage(2)
        let gate = OriginGate()
        defer { gate.open() }
        stage.origins[0].when(
            "/file",
            .gated(Self.body, after: Self.cut, gate, headers: [("ETag", Self.etag)])
        )
        stage.origins[1].when("/file") { .file(Self.body, etag: Self.etag, for: $0) }
        let task = try await stage.download { $0.options.timeoutForRequest = .seconds(15) }
        try await stage.expect(Self.body, in: task)
        #expect(await stage.bytesSent == [Self.cut, Self.body.count - Self.cut])
        #expect(try await stage.fixture.attempts(task.id).first?.failure?.code == .timedOut)
    }

    @Test func wrongBytesAreFetchedFromAnotherMirror() async throws {
        let stage = try await MirrorStage(2)
        stage.origins[0].when("/file") { .file(Self.other, etag: Self.etag, for: $0) }
        stage.origins[1].when("/file") { .file(Self.body, etag: Self.etag, for: $0) }
        let checksum = try #require(Checksum(.sha256, hex: Self.body.sha256))
        let task = try await stage.download { $0.options.checksums = [checksum] }
        try await stage.expect(Self.body, in: task)
        // Of wrong bytes nothing is kept, whatever their tag.
        #expect(await stage.bytesSent == [Self.other.count, Self.body.count])
        #expect(try await stage.fixture.attempts(task.id).first?.failure?.code == .checksumMismatch)
    }

    /// What a mirror has sent may come to a task that knows no mirrors.
    @Test func resumeDataOfAMirrorIsTakenOnlyByItsTag() async throws {
        let stage = try await MirrorStage(2)
        let fixture = stage.fixture
        let gate = OriginGate()
        defer { gate.open() }
        stage.origins[0].when("/file") { request in
            guard request.numberAtPath > 1 else { return .response(404) }
            guard request["Range"] != nil else { return .response(body: Self.other) }
            return OriginScript([
                .head(
                    206,
                    [
                        ("Content-Length", "\(Self.other.count - Self.cut)"),
                        (
                            "Content-Range",
                            "bytes \(Self.cut)-\(Self.other.count - 1)/\(Self.other.count)"
                        ),
                    ]
                ), .body(Self.other, Self.cut..<Self.other.count),
            ])
        }
        stage.origins[1].when(
            "/file",
            .gated(Self.body, after: Self.cut, gate, headers: [("ETag", Self.etag)])
        )
        let id = try await stage.submit()
        let resumeData = ResumeDataID(UUID())
        let task = try await fixture.withEngine { engine in
            try await fixture.received(Self.cut, of: id)
            _ = try await fixture.stores.control.cancelTask(
                tenant: fixture.tenant,
                id: id,
                producing: resumeData
            )
            #expect(try await fixture.stores.control.hasResumeData(resumeData))
            engine.wake()
            await stage.origins[1].log.wait { $0.connectionsOpen == 0 }
            let next = try await fixture.submit(stage.urls[0]) { $0.resumeData = resumeData }
            engine.wake()
            return try await fixture.ended(next)
        }
        #expect(stage.requests[0].count == 3)
        try await stage.expect(Self.other, in: task)
    }

    /// Another worker goes on where the first one was.
    @Test func aWorkerThatStopsLeavesTheTaskAtItsMirror() async throws {
        let stage = try await MirrorStage(2)
        let fixture = stage.fixture
        let gate = OriginGate()
        defer { gate.open() }
        stage.origins[0].when("/file", .response(404))
        stage.origins[1].when("/file") { request in
            .file(
                Self.body,
                etag: Self.etag,
                for: request,
                pause: request.numberAtPath == 1 ? (after: Self.cut, gate: gate) : nil
            )
        }
        let id = try await stage.submit()
        try await fixture.withEngine { _ in try await fixture.received(Self.cut, of: id) }
        let task = try await fixture.withEngine { _ in try await fixture.ended(id) }
        try await stage.expect(Self.body, in: task)
        #expect(stage.requests.map(\.count) == [1, 2])
        #expect(stage.requests[1].last?["Range"] == "bytes=\(Self.cut)-")
    }
}
