import Curl
import Foundation
import Testing
import TransferEngine
import TransferModel
import TransferStore
import TransferTestSupport

/// Uploads of what lies elsewhere.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineCopyTests {
    private static let body = OriginBody.random(seed: 78, size: 1_000_000)
    private static let size = body.count
    private static let etag = #""one""#

    /// Serves the file at `/source` of the fixture's origin.
    private func serve(
        _ fixture: EngineFixture,
        _ body: OriginBody = body,
        etag: String = etag
    ) {
        fixture.origin.when("/source") { .file(body, etag: etag, for: $0) }
    }

    private func copy(
        _ fixture: EngineFixture,
        to url: String? = nil,
        from source: CopySource? = nil,
        method: String? = nil,
        attemptsMax: Int = 5,
        breaking gate: OriginGate? = nil,
        change: (inout TaskSubmission) -> Void = { _ in },
        configure: (inout EngineConfiguration) -> Void = { _ in }
    ) async throws -> TransferTask {
        let source = source ?? .remote(url: fixture.origin.url("/source"), headers: [])
        let id = try await fixture.submit(url ?? fixture.origin.url("/in")) {
            $0.request = TransferRequest(method: method, upload: .copy(source))
            change(&$0)
        }
        return try await fixture.withEngine {
            $0.retryPolicy.attemptsMax = attemptsMax
            configure(&$0)
        } _: { _ in
            if let gate {
                try await fixture.placesAreKept()
                gate.open()
            }
            return try await fixture.ended(id)
        }
    }

    private func received(_ fixture: EngineFixture) -> [OriginRequest] {
        fixture.origin.log.now.requests(at: "/in")
    }

    @Test func sendsWhatTheSourceSends() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/source") { _ in
            .response(
                headers: [("Content-Type", "image/png"), ("X-Other", "1")],
                body: Self.body
            )
        }
        fixture.origin.when("/in") { _ in .response(201) }
        let headers = [HTTPHeader(name: "Authorization", value: "Bearer source")]
        let source = CopySource.remote(url: fixture.origin.url("/source"), headers: headers)
        let task = try await copy(fixture, from: source) {
            $0.headers = [HTTPHeader(name: "Authorization", value: "Bearer destination")]
        }
        #expect(task.state == .completed)
        #expect(task.bytesSent == Int64(Self.size))
        let sent = try #require(received(fixture).first)
        #expect(OriginBody.sha256(of: sent.body) == Self.body.sha256)
        #expect(sent["Content-Length"] == "\(Self.size)")
        #expect(sent["Content-Type"] == "image/png")
        #expect(sent["X-Other"] == nil)
        #expect(sent["Authorization"] == "Bearer destination")
        let asked = try #require(fixture.origin.log.now.requests(at: "/source").first)
        #expect(asked["Authorization"] == "Bearer source")
        #expect(asked["Accept-Encoding"] == "identity")
        #expect(fixture.files().isEmpty)
    }

    @Test(arguments: [0, 1_000_000])
    func aBodyWithoutLengthGoesInChunks(size: Int) async throws {
        let fixture = try await EngineFixture()
        let body = OriginBody.random(seed: 3, size: size)
        let head = OriginScript.Step.head(200, [("Transfer-Encoding", "chunked")])
        fixture.origin.when("/source") { _ in OriginScript([head, .chunks(body, size: 70_000)]) }
        fixture.origin.when("/in") { _ in .response(201) }
        let task = try await copy(fixture) {
            $0.headers = [HTTPHeader(name: "Content-Type", value: "a/b")]
        }
        #expect(task.state == .completed)
        let sent = try #require(received(fixture).first)
        #expect(sent["Transfer-Encoding"] == "chunked")
        #expect(sent["Content-Type"] == "a/b")
        #expect(OriginBody.sha256(of: sent.body) == body.sha256)
    }

    @Test func nothingIsAFileOfNoBytes() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/source") { _ in .response() }
        fixture.origin.when("/in") { _ in .response(201) }
        let task = try await copy(fixture)
        #expect(task.state == .completed)
        #expect(received(fixture).first?["Content-Length"] == "0")
    }

    /// A destination that reads nothing holds the source up: what is in between is the buffer and
    /// those of the kernel.
    @Test func whatIsInBetweenIsBounded() async throws {
        let fixture = try await EngineFixture()
        let large = OriginBody.random(seed: 5, size: 64_000_000)
        serve(fixture, large)
        let gate = OriginGate()
        let destination = try ResumableOrigin(.tus, [.wait(at: 100_000, gate)])
        let id = try await fixture.submit(destination.url) {
            $0.request = TransferRequest(
                upload: .copy(.remote(url: fixture.origin.url("/source"), headers: []))
            )
            $0.options.resumableUpload = .tus
        }
        fixture.origin.when("/file", .response(body: large))
        let download = try await fixture.submit(fixture.origin.url("/file")) {
            $0.autostart = false
        }
        let task = try await fixture.withEngine { _ in
            try await eventually("the destination stands still") {
                destination.bytesReceived == 100_000
            }
            _ = try await fixture.stores.control.resumeTask(tenant: fixture.tenant, id: download)
            // By the time that all of it has come to a file, it would have come here, too.
            #expect(try await fixture.ended(download).state == .completed)
            let sent = fixture.origin.log.now.bytesSent["/source", default: 0]
            #expect(sent < large.count / 2)
            gate.open()
            return try await fixture.ended(id)
        }
        #expect(task.state == .completed)
        #expect(destination.bytesReceived == large.count)
        #expect(OriginBody.sha256(of: destination.uploads[0].bytes) == large.sha256)
    }

    /// The fault is the source's: the task's own host is not asked, and not thought worse of.
    @Test(arguments: [
        (404, TransferFailure.Code.sourceMissing), (403, .sourceMissing),
        (503, .sourceUnavailable), (407, .sourceUnavailable),
    ])
    func aSourceThatRefusesIsTheSourcesFault(
        status: Int,
        code: TransferFailure.Code
    ) async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/source") { _ in .response(status) }
        fixture.origin.when("/in") { _ in .response(201) }
        let task = try await copy(fixture, attemptsMax: 2)
        #expect(task.state == .failed)
        #expect(task.failure?.code == code)
        #expect(task.failure?.httpStatus == nil)
        #expect(task.attempt == (code == .sourceUnavailable ? 2 : 1))
        #expect(received(fixture).isEmpty)
    }

    @Test func aSourceThatBreaksIsAskedAgain() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/source") { request in
            request.numberAtPath == 1
                ? .cut(Self.body, after: 600_000, .reset)
                : .response(body: Self.body)
        }
        fixture.origin.when("/in") { _ in .response(201) }
        let task = try await copy(fixture)
        #expect(task.state == .completed)
        #expect(task.attempt == 2)
        #expect(try await fixture.attempts(task.id).first?.failure?.code == .sourceUnavailable)
        // What was cut has never been a request of its own.
        #expect(received(fixture).count == 1)
        #expect(received(fixture).first.map { OriginBody.sha256(of: $0.body) } == Self.body.sha256)
    }

    /// Nobody could tell a part from the whole.
    @Test func aSourceWithoutEndIsRefused() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/source") { _ in .closeDelimited(Self.body) }
        fixture.origin.when("/in") { _ in .response(201) }
        let task = try await copy(fixture)
        #expect(task.failure?.code == .sourceUnavailable)
        #expect(task.attempt == 1)
        #expect(received(fixture).isEmpty)
    }

    @Test(arguments: ResumableOrigin.Dialect.allCases, ["PUT", "POST"])
    func bothSidesContinueWhereTheyHaveStopped(
        dialect: ResumableOrigin.Dialect,
        method: String
    ) async throws {
        let fixture = try await EngineFixture()
        serve(fixture)
        let gate = OriginGate()
        let origin = try ResumableOrigin(
            dialect,
            [.reset(at: 400_000, after: gate), .reset(at: 800_000)]
        )
        let task = try await copy(fixture, to: origin.url, method: method, breaking: gate) {
            $0.options.resumableUpload = dialect.option
        }
        #expect(task.state == .completed)
        #expect(task.attempt == 3)
        #expect(task.bytesSent == Int64(Self.size))
        #expect(origin.bytesReceived == Self.size)
        #expect(origin.uploads.count == 1)
        #expect(OriginBody.sha256(of: origin.uploads[0].bytes) == Self.body.sha256)
        let ranges = fixture.origin.log.now.requests(at: "/source").map { $0["Range"] }
        #expect(ranges == [nil, "bytes=400000-", "bytes=800000-"])
    }

    /// The same for many at once, whichever way their pieces meet.
    @Test(arguments: ResumableOrigin.Dialect.allCases)
    func manyThatBreakComeToTheirEnds(dialect: ResumableOrigin.Dialect) async throws {
        let fixture = try await EngineFixture()
        serve(fixture)
        let source = CopySource.remote(url: fixture.origin.url("/source"), headers: [])
        var origins: [ResumableOrigin] = []
        var ids: [TaskID] = []
        let gate = OriginGate()
        for _ in 0..<40 {
            let origin = try ResumableOrigin(
                dialect,
                [.reset(at: 400_000, after: gate), .reset(at: 800_000)]
            )
            origins.append(origin)
            ids.append(
                try await fixture.submit(origin.url) {
                    $0.request = TransferRequest(method: "POST", upload: .copy(source))
                    $0.options.resumableUpload = dialect.option
                }
            )
        }
        try await fixture.withEngine { [ids] _ in
            try await fixture.placesAreKept(ids.count)
            gate.open()
            try await fixture.expectCompletion(ids)
        }
        for origin in origins { #expect(origin.bytesReceived == Self.size) }
    }

    /// The origin has all of it, and the answer is lost: the source is not asked again.
    @Test func aLostAnswerIsAskedForWithoutTheSource() async throws {
        let fixture = try await EngineFixture()
        serve(fixture)
        let origin = try ResumableOrigin(.contentRange, [.reset(at: Self.size)])
        let task = try await copy(fixture, to: origin.url, method: "POST") {
            $0.options.resumableUpload = .contentRange
        }
        #expect(task.state == .completed)
        #expect(origin.bytesReceived == Self.size)
        #expect(fixture.origin.log.now.requests(at: "/source").count == 1)
    }

    /// Bytes of two versions never meet: a new one begins again, or not at all.
    @Test(arguments: ["PUT", "POST"])
    func aSourceThatChangesIsNotMixed(method: String) async throws {
        let fixture = try await EngineFixture()
        let other = OriginBody.random(seed: 79, size: Self.size)
        fixture.origin.when("/source") { request in
            request.numberAtPath == 1
                ? .file(Self.body, etag: Self.etag, for: request)
                : .file(other, etag: #""two""#, for: request)
        }
        let origin = try ResumableOrigin(.tus, [.reset(at: 400_000)])
        let task = try await copy(fixture, to: origin.url, method: method) {
            $0.options.resumableUpload = .tus
        }
        if method == "PUT" {
            #expect(task.state == .completed)
            #expect(origin.uploads.count == 2)
            let last = try #require(origin.uploads.last)
            #expect(OriginBody.sha256(of: last.bytes) == other.sha256)
        } else {
            #expect(task.failure?.code == .sourceChanged)
            #expect(origin.uploads.count == 1)
        }
        #expect(origin.uploads.first?.bytes.count == 400_000)
    }

    /// Without a version, what an earlier attempt has sent is of no use.
    @Test func aSourceWithoutVersionIsSentAgain() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/source") { _ in .response(body: Self.body) }
        let origin = try ResumableOrigin(.tus, [.reset(at: 400_000)])
        let task = try await copy(fixture, to: origin.url) { $0.options.resumableUpload = .tus }
        #expect(task.state == .completed)
        #expect(origin.uploads.count == 2)
        #expect(origin.uploads.last.map { OriginBody.sha256(of: $0.bytes) } == Self.body.sha256)
    }

    @Test func aRedirectElsewhereGetsNoSecrets() async throws {
        let fixture = try await EngineFixture()
        let elsewhere = try LoopbackOrigin()
        defer { elsewhere.stop() }
        elsewhere.when("/file", .response(body: Self.body))
        fixture.origin.when("/source") { _ in .redirect(to: elsewhere.url("/file")) }
        fixture.origin.when("/in") { _ in .response(201) }
        let headers = [
            HTTPHeader(name: "Authorization", value: "Bearer source"),
            HTTPHeader(name: "Accept", value: "a/b"),
        ]
        let source = CopySource.remote(url: fixture.origin.url("/source"), headers: headers)
        let task = try await copy(fixture, from: source)
        #expect(task.state == .completed)
        let asked = try #require(elsewhere.log.now.requests.first)
        #expect(asked["Authorization"] == nil)
        #expect(asked["Accept"] == "a/b")
    }

    /// The body goes to where the origin sends it, from its start.
    @Test func aRedirectOfTheUploadAsksTheSourceAgain() async throws {
        let fixture = try await EngineFixture()
        serve(fixture)
        fixture.origin.when("/in", readsBody: true) { _ in .redirect(307, to: "/there") }
        fixture.origin.when("/there") { _ in .response(201) }
        let task = try await copy(fixture)
        #expect(task.state == .completed)
        let sent = try #require(fixture.origin.log.now.requests(at: "/there").first)
        #expect(OriginBody.sha256(of: sent.body) == Self.body.sha256)
    }

    /// The guard holds for the source as for the task's own host.
    @Test func aSourceThatMayNotBeReachedIsNotAsked() async throws {
        let fixture = try await EngineFixture()
        let inside = try LoopbackOrigin()
        defer { inside.stop() }
        inside.when("/secret", .response(body: Self.body))
        fixture.origin.when("/in") { _ in .response(201) }
        let port = inside.port
        let source = CopySource.remote(url: inside.url("/secret"), headers: [])
        let task = try await copy(fixture, from: source, change: { _ in }) {
            $0.egress = EgressGuard { $0.port != port }
        }
        #expect(task.failure?.code == .egressDenied)
        #expect(inside.log.now.connectionsAccepted == 0)
        #expect(received(fixture).isEmpty)
    }

    /// Each wait of one side ends when the other is ready, whichever way their pieces meet.
    @Test func manyCopiesComeToTheirEnds() async throws {
        let fixture = try await EngineFixture()
        serve(fixture)
        fixture.origin.when("/in") { _ in .response(201) }
        let source = CopySource.remote(url: fixture.origin.url("/source"), headers: [])
        var ids: [TaskID] = []
        for _ in 0..<200 {
            ids.append(
                try await fixture.submit(fixture.origin.url("/in")) {
                    $0.request = TransferRequest(upload: .copy(source))
                }
            )
        }
        try await fixture.withEngine { [ids] _ in try await fixture.expectCompletion(ids) }
        #expect(received(fixture).count == ids.count)
        for request in received(fixture) { #expect(request.bodyCount == Self.size) }
    }

    @Test func aCancellationEndsBothSides() async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        fixture.origin.when("/source") { _ in .gated(Self.body, after: 500_000, gate) }
        fixture.origin.when("/in") { _ in .response(201) }
        let id = try await fixture.submit(fixture.origin.url("/in")) {
            $0.request = TransferRequest(
                upload: .copy(.remote(url: fixture.origin.url("/source"), headers: []))
            )
        }
        try await fixture.withEngine { _ in
            await fixture.origin.log.sent(500_000, at: "/source")
            _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: id)
            await fixture.origin.log.wait { $0.requestsOpen == 0 && $0.connectionsOpen == 0 }
            #expect(try await fixture.task(id).state == .cancelled)
        }
        gate.open()
    }
}

extension ResumableOrigin.Dialect {
    fileprivate var option: ResumableUpload {
        switch self {
        case .ietf: .ietf
        case .tus: .tus
        case .contentRange: .contentRange
        }
    }
}
