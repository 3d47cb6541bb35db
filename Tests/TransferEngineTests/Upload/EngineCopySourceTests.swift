import Testing
import TransferEngine
import TransferModel
import TransferStore
import TransferTestSupport

/// Copies whose sources do not send the rest as it was asked for.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineCopySourceTests {
    /// What a source does about a range.
    enum Answer: CaseIterable {
        case whole
        case otherPart
        case notSatisfiable
    }

    private static let body = OriginBody.random(seed: 80, size: 1_000_000)
    private static let size = body.count
    private static let etag = #""one""#

    /// Copies what is at `/source` to an origin that breaks the first attempt at the gate.
    private func copy(
        _ fixture: EngineFixture,
        to origin: ResumableOrigin,
        breaking gate: OriginGate
    ) async throws -> TransferTask {
        let source = CopySource.remote(url: fixture.origin.url("/source"), headers: [])
        let id = try await fixture.submit(origin.url) {
            $0.request = TransferRequest(upload: .copy(source))
            $0.options.resumableUpload = .tus
        }
        return try await fixture.withEngine {
            $0.retryPolicy.attemptsMax = 5
        } _: { _ in
            try await fixture.placesAreKept()
            gate.open()
            return try await fixture.ended(id)
        }
    }

    /// All that it has contains what is missing.
    @Test(arguments: Answer.allCases)
    func aSourceWithoutRangesIsReadFromItsStart(answer: Answer) async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/source") { request in
            // Who asks without end shall find one.
            guard request.numberAtPath < 10 else { return .response(404) }
            guard request["Range"] == nil || answer == .whole else {
                return answer == .otherPart
                    ? .response(
                        206,
                        headers: [
                            ("ETag", Self.etag), ("Content-Range", "bytes 0-999/\(Self.size)"),
                        ],
                        body: .bytes(Self.body.bytes(in: 0..<1000))
                    ) : .response(416, headers: [("Content-Range", "bytes */\(Self.size)")])
            }
            return .response(headers: [("ETag", Self.etag)], body: Self.body)
        }
        let gate = OriginGate()
        let origin = try ResumableOrigin(.tus, [.reset(at: 400_000, after: gate)])
        let task = try await copy(fixture, to: origin, breaking: gate)
        #expect(task.state == .completed)
        #expect(task.attempt == 2)
        #expect(origin.bytesReceived == Self.size)
        #expect(origin.uploads.map { OriginBody.sha256(of: $0.bytes) } == [Self.body.sha256])
        let ranges = fixture.origin.log.now.requests(at: "/source").map { $0["Range"] }
        let expected: [String?] = [nil, "bytes=400000-", nil]
        #expect(ranges == Array(expected.prefix(answer == .whole ? 2 : 3)))
    }

    /// What the source leads to may be another server each time, or the one of its URL itself.
    @Test(arguments: ["tells nothing", "dates", "is that of the URL"])
    func bytesOfTwoTargetsOfRedirectsAreNeverMixed(server: String) async throws {
        let fixture = try await EngineFixture()
        let other = OriginBody.random(seed: 81, size: Self.size)
        let dates: [(name: String, value: String)] = [
            ("Last-Modified", "Tue, 15 Nov 1994 12:45:26 GMT"),
            ("Date", "Wed, 16 Nov 1994 12:45:26 GMT"),
        ]
        let fields = server == "dates" ? dates : [(name: "ETag", value: Self.etag)]
        fixture.origin.when("/first", .response(headers: fields, body: Self.body))
        let serve: @Sendable (OriginRequest) -> OriginScript = { request in
            let told = server == "dates" ? dates : []
            guard request["Range"] != nil else { return .response(headers: told, body: other) }
            let range = "bytes 400000-\(Self.size - 1)/\(Self.size)"
            return .response(
                206,
                headers: told + [("Content-Range", range)],
                body: .bytes(other.bytes(in: 400_000..<Self.size))
            )
        }
        fixture.origin.when("/second", serve)
        fixture.origin.when("/source") { request in
            guard request.numberAtPath > 1 else { return .redirect(to: "/first") }
            return server == "is that of the URL" ? serve(request) : .redirect(to: "/second")
        }
        let gate = OriginGate()
        let origin = try ResumableOrigin(.tus, [.reset(at: 400_000, after: gate)])
        let task = try await copy(fixture, to: origin, breaking: gate)
        #expect(task.state == .completed)
        let last = try #require(origin.uploads.last)
        #expect(OriginBody.sha256(of: last.bytes) == other.sha256)
    }

    /// That there is no content is no file: what the destination has stays there.
    @Test(arguments: [204, 205]) func aSourceWithoutContentIsNotCopied(status: Int) async throws {
        let fixture = try await EngineFixture()
        let head = OriginScript.Step.head(status, status == 205 ? [("Content-Length", "0")] : [])
        fixture.origin.when("/source", OriginScript([head]))
        fixture.origin.when("/in", .response(201))
        let source = CopySource.remote(url: fixture.origin.url("/source"), headers: [])
        let id = try await fixture.submit(fixture.origin.url("/in")) {
            $0.request = TransferRequest(upload: .copy(source))
        }
        let task = try await fixture.withEngine { _ in try await fixture.ended(id) }
        #expect(task.state == .failed)
        #expect(task.failure?.code == .sourceMissing)
        #expect(task.attempt == 1)
        #expect(fixture.origin.log.now.requests(at: "/in").isEmpty)
    }

    /// Redirects give it no more: each request has what the ones before have left.
    @Test func aSourceHasTheTimeOfItsTask() async throws {
        let fixture = try await EngineFixture()
        let hops = [(gate: OriginGate(), after: 4.0), (gate: OriginGate(), after: 8.0)]
        fixture.origin.when(
            "/source",
            OriginScript([.wait(hops[0].gate)] + OriginScript.redirect(to: "/second").steps)
        )
        fixture.origin.when(
            "/second",
            OriginScript([.wait(hops[1].gate)] + OriginScript.response(body: Self.body).steps)
        )
        fixture.origin.when("/in", .response(201))
        let source = CopySource.remote(url: fixture.origin.url("/source"), headers: [])
        let id = try await fixture.submit(fixture.origin.url("/in")) {
            $0.request = TransferRequest(upload: .copy(source))
            $0.options.timeoutForResource = .seconds(6)
        }
        let task = try await fixture.withEngine {
            $0.retryPolicy.attemptsMax = 1
        } _: { _ in
            await fixture.origin.log.arrived(1)
            let arrival = ContinuousClock.now
            for (gate, time) in hops {
                try await eventually("the hop has taken its time") {
                    ContinuousClock.now - arrival >= .seconds(time)
                }
                gate.open()
            }
            return try await fixture.ended(id)
        }
        // With more time for the source, none would be left for the destination.
        #expect(task.failure?.code == .sourceUnavailable)
        #expect(fixture.origin.log.now.requests(at: "/in").isEmpty)
    }

    /// The surplus is no request of its own to the destination, and no reason to wait for ever: the
    /// rest may be larger than what is kept between the two, or smaller than a piece.
    @Test(arguments: [400_000, 999_000])
    func aSourceThatSendsMoreThanItsRangeHasFailed(place: Int) async throws {
        let fixture = try await EngineFixture()
        let surplus = Array("GET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n".utf8)
        fixture.origin.when("/source") { request in
            guard request.numberAtPath == 2 else {
                return .file(Self.body, etag: Self.etag, for: request)
            }
            let rest = OriginBody.bytes(Self.body.bytes(in: place..<Self.size) + surplus)
            let head = OriginScript.Step.head(
                206,
                [
                    ("ETag", Self.etag),
                    ("Content-Range", "bytes \(place)-\(Self.size - 1)/\(Self.size)"),
                    ("Transfer-Encoding", "chunked"),
                ]
            )
            return OriginScript([head, .chunks(rest, size: rest.count)])
        }
        let gate = OriginGate()
        let origin = try ResumableOrigin(.tus, [.reset(at: place, after: gate)])
        let task = try await copy(fixture, to: origin, breaking: gate)
        #expect(task.state == .completed)
        #expect(task.attempt == 3)
        let failures = try await fixture.attempts(task.id).map { $0.failure?.code }
        #expect(failures.count > 1 && failures[1] == .sourceUnavailable)
        #expect(origin.server.log.now.requests(at: "/smuggled").isEmpty)
        #expect(origin.uploads.map { OriginBody.sha256(of: $0.bytes) } == [Self.body.sha256])
    }
}
