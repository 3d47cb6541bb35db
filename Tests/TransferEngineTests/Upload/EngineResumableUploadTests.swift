import Foundation
import Postgres
import Testing
import TransferEngine
import TransferModel
import TransferStore
import TransferTestSupport

/// Uploads that continue where their origin has stopped.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineResumableUploadTests {
    private static let body = OriginBody.random(seed: 76, size: 2_000_000)
    private static let size = body.count

    /// Uploads `body` to the origin, in its own dialect; `gate` opens once the place is kept.
    private func upload(
        _ fixture: EngineFixture,
        to origin: ResumableOrigin,
        _ dialect: ResumableOrigin.Dialect,
        method: String? = nil,
        source: TransferRequest.UploadSource = .file(path: "out/file"),
        attemptsMax: Int = 5,
        breaking gate: OriginGate? = nil,
        change: (inout TaskSubmission) -> Void = { _ in }
    ) async throws -> TransferTask {
        try fixture.place(Self.body.bytes, at: "out/file")
        let id = try await submit(
            fixture,
            to: origin.url,
            dialect,
            method: method,
            source: source,
            change: change
        )
        return try await fixture.withEngine {
            $0.retryPolicy.attemptsMax = attemptsMax
        } _: { _ in
            if let gate {
                try await fixture.placesAreKept()
                gate.open()
            }
            return try await fixture.ended(id)
        }
    }

    private func submit(
        _ fixture: EngineFixture,
        to url: String,
        _ dialect: ResumableOrigin.Dialect,
        method: String? = nil,
        source: TransferRequest.UploadSource = .file(path: "out/file"),
        change: (inout TaskSubmission) -> Void = { _ in }
    ) async throws -> TaskID {
        let id = try await fixture.submit(url) {
            $0.request = TransferRequest(method: method, upload: source)
            $0.options.resumableUpload =
                switch dialect {
                case .ietf: .ietf
                case .tus: .tus
                case .contentRange: .contentRange
                }
            change(&$0)
        }
        if source == .staged {
            try fixture.place(Self.body.bytes, at: ResultLocation.bodyPath(of: id))
            _ = try await fixture.stores.control.completeBody(tenant: fixture.tenant, id: id)
        }
        return id
    }

    private func expectWhole(_ origin: ResumableOrigin, uploads: Int = 1) throws {
        #expect(origin.uploads.count == uploads)
        let upload = try #require(origin.uploads.last)
        #expect(upload.isComplete)
        #expect(OriginBody.sha256(of: upload.bytes) == Self.body.sha256)
    }

    @Test(
        arguments: ResumableOrigin.Dialect.allCases,
        [TransferRequest.UploadSource.file(path: "out/file"), .staged]
    )
    func noByteIsSentTwiceWhenConnectionsBreak(
        dialect: ResumableOrigin.Dialect,
        source: TransferRequest.UploadSource
    ) async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        let origin = try ResumableOrigin(
            dialect,
            [.reset(at: 700_000, after: gate), .reset(at: 1_500_000)]
        )
        let task = try await upload(fixture, to: origin, dialect, source: source, breaking: gate)
        #expect(task.state == .completed)
        #expect(task.attempt == 3)
        #expect(task.bytesSent == Int64(Self.size))
        try expectWhole(origin)
        #expect(origin.bytesReceived == Self.size)
        if dialect != .tus {
            let answer = try await fixture.stores.tasks.responseBody(
                tenant: fixture.tenant,
                task: task.id
            )
            #expect(answer == ResumableOrigin.answer.bytes)
        }
        #expect(task.result?.finalURL == nil)
    }

    /// The origin has all of the body, and the answer is lost.
    @Test(arguments: ResumableOrigin.Dialect.allCases)
    func aLostAnswerIsAskedFor(dialect: ResumableOrigin.Dialect) async throws {
        let fixture = try await EngineFixture()
        let origin = try ResumableOrigin(dialect, [.reset(at: Self.size)])
        let task = try await upload(fixture, to: origin, dialect, method: "POST")
        #expect(task.state == .completed)
        #expect(task.bytesSent == Int64(Self.size))
        #expect(origin.bytesReceived == Self.size)
        #expect(origin.uploads.count == 1)
    }

    /// Without the place, nobody could tell what a second request would do.
    @Test(arguments: ResumableOrigin.Dialect.allCases)
    func whatMustNotBeSentTwiceIsContinued(dialect: ResumableOrigin.Dialect) async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        let origin = try ResumableOrigin(dialect, [.reset(at: 700_000, after: gate)])
        let task = try await upload(fixture, to: origin, dialect, method: "POST", breaking: gate)
        #expect(task.state == .completed)
        try expectWhole(origin)
        #expect(origin.bytesReceived == Self.size)
    }

    @Test(arguments: ["PUT", "POST"])
    func anOriginThatNamesNoPlaceGetsTheWholeBodyAgain(method: String) async throws {
        let fixture = try await EngineFixture()
        try fixture.place(Self.body.bytes, at: "out/file")
        fixture.origin.when("/in") { request in
            request.numberAtPath == 1 ? OriginScript([.reset]) : .response(200)
        }
        let id = try await submit(fixture, to: fixture.origin.url("/in"), .ietf, method: method)
        let task = try await fixture.withEngine { _ in try await fixture.ended(id) }
        let requests = fixture.origin.log.now.requests(at: "/in")
        #expect(task.failure?.code == (method == "PUT" ? nil : .unknownOutcome))
        #expect(requests.count == (method == "PUT" ? 2 : 1))
        #expect(requests.allSatisfy { $0.bodyCount == Self.size })
        #expect(requests.allSatisfy { $0["Upload-Complete"] == "?1" })
        #expect(requests.allSatisfy { $0["Upload-Draft-Interop-Version"] == "8" })
    }

    @Test(arguments: ResumableOrigin.Dialect.allCases, ["PUT", "POST"])
    func whatTheOriginHasLostIsSentAgainOnlyIfThatIsHarmless(
        dialect: ResumableOrigin.Dialect,
        method: String
    ) async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        let origin = try ResumableOrigin(dialect, [.reset(at: 700_000, after: gate)]) { request in
            request.path == "/uploads/0" && request["Upload-Offset"] != "0"
                && request["Content-Range"]?.hasPrefix("bytes 0-") != true ? .response(404) : nil
        }
        let task = try await upload(fixture, to: origin, dialect, method: method, breaking: gate)
        guard method == "PUT" else {
            #expect(task.failure?.code == .unknownOutcome)
            #expect(origin.uploads.count == 1)
            return
        }
        #expect(task.state == .completed)
        try expectWhole(origin, uploads: 2)
    }

    @Test(arguments: ["PUT", "POST"])
    func bytesOfAnotherFileAreNotAppended(method: String) async throws {
        let fixture = try await EngineFixture()
        try fixture.place(Self.body.bytes, at: "out/file")
        let origin = try ResumableOrigin(.tus)
        let id = try await submit(fixture, to: origin.url, .tus, method: method)
        let worker = WorkerIdentity(
            incarnation: try await fixture.stores.workers.registerWorker(name: "earlier")
        )
        let claim = try #require(try await fixture.stores.queue.claimAny(1, by: worker).first)
        let resource = UploadResource(
            fence: claim.fence,
            dialect: .tus,
            url: origin.server.url("/there"),
            isAtOrigin: true,
            body: "the file as it was"
        )
        #expect(try await fixture.stores.uploadResources.keep(resource, of: claim))
        let end = AttemptEnd(task: id, fence: claim.fence, outcome: .released)
        #expect(try await !fixture.stores.completions.end([end]).isEmpty)
        let task = try await fixture.withEngine { _ in try await fixture.ended(id) }
        #expect(origin.server.log.now.requests(at: "/there").isEmpty)
        guard method == "PUT" else {
            #expect(task.failure?.code == .sourceChanged)
            return
        }
        #expect(task.state == .completed)
        try expectWhole(origin)
    }

    /// What the origin says of its own offset is not believed blindly.
    @Test(arguments: ["2000001", "-1", "1e3", "", "99999999999999999999"])
    func anOffsetThatCannotBeIsRefused(offset: String) async throws {
        let fixture = try await EngineFixture()
        let origin = try ResumableOrigin(.tus, [.reset(at: 700_000)]) { request in
            request.method == "HEAD" ? .response(headers: [("Upload-Offset", offset)]) : nil
        }
        let task = try await upload(fixture, to: origin, .tus, attemptsMax: 3)
        #expect(task.failure?.code == .badResponse)
        #expect(origin.requests.map(\.method) == ["POST", "PATCH", "HEAD", "HEAD"])
    }

    @Test func anOffsetThatGoesBackIsRefused() async throws {
        let fixture = try await EngineFixture()
        let origin = try ResumableOrigin(.tus) { request in
            guard request.method == "PATCH" else { return nil }
            let offset = request["Upload-Offset"] == "0" ? "5" : "4"
            return .response(204, headers: [("Upload-Offset", offset)])
        }
        let task = try await upload(fixture, to: origin, .tus, attemptsMax: 1)
        #expect(task.failure?.code == .badResponse)
        #expect(origin.requests.map { $0["Upload-Offset"] } == [nil, "0", "5"])
    }

    @Test func anOriginThatTakesABodyInPiecesGetsTheRest() async throws {
        let fixture = try await EngineFixture()
        let origin = try ResumableOrigin(.tus) { request in
            // It takes 500,000 bytes of each request.
            guard request.method == "PATCH",
                let offset = request["Upload-Offset"].flatMap({ Int($0) })
            else { return nil }
            let next = min(offset + 500_000, Self.size)
            return .response(204, headers: [("Upload-Offset", "\(next)")])
        }
        let task = try await upload(fixture, to: origin, .tus, attemptsMax: 1)
        #expect(task.state == .completed)
        #expect(
            origin.requests.dropFirst().map { $0["Upload-Offset"] } == [
                "0", "500000", "1000000", "1500000",
            ]
        )
    }

    /// The places of uploads are where the origin likes; the task's secrets are not.
    @Test(arguments: ResumableOrigin.Dialect.allCases, [false, true])
    func aPlaceAtAnotherOriginIsUsedOnlyIfAsked(
        dialect: ResumableOrigin.Dialect,
        isAsked: Bool
    ) async throws {
        let fixture = try await EngineFixture()
        let other = try LoopbackOrigin()
        defer { other.stop() }
        for path in ["/uploads/0"] {
            other.when(path) { request in
                .response(
                    request.method == "HEAD" ? 200 : 201,
                    headers: request.method == "HEAD"
                        ? [("Upload-Offset", "0")]
                        : [("Upload-Offset", "\(Self.size)"), ("Upload-Complete", "?1")]
                )
            }
        }
        // A reset takes away what has arrived and was not read, such as a place.
        let gate = isAsked && dialect == .ietf ? OriginGate() : nil
        let origin = try ResumableOrigin(
            dialect,
            [.reset(at: 700_000, after: gate)],
            place: { other.url($0) }
        )
        let task = try await upload(fixture, to: origin, dialect, attemptsMax: 2, breaking: gate) {
            $0.headers = [
                HTTPHeader(name: "X-Key", value: "secret"),
                HTTPHeader(name: "Accept", value: "text/plain"),
            ]
            if isAsked { $0.options.sendsBodyToOtherOrigins = true }
        }
        #expect(origin.requests.allSatisfy { $0["X-Key"] == "secret" })
        let requests = other.log.now.requests
        guard isAsked else {
            #expect(requests.isEmpty)
            // The origin's word that the upload can be resumed is of no use, and does no harm.
            #expect(task.failure?.code == (dialect == .ietf ? nil : .badRedirect))
            return
        }
        #expect(task.state == .completed)
        #expect(!requests.isEmpty)
        #expect(requests.allSatisfy { $0["X-Key"] == nil && $0["Accept"] == "text/plain" })
        let last = try #require(requests.last)
        #expect(last["Upload-Offset"] ?? last["Content-Range"] != nil)
        #expect(last.bodyCount == Self.size)
    }

    @Test func secretsAreShownToAPlaceAtTheTasksOrigin() async throws {
        let fixture = try await EngineFixture()
        let origin = try ResumableOrigin(.tus, [.reset(at: 700_000)])
        let task = try await upload(fixture, to: origin, .tus) {
            $0.headers = [
                HTTPHeader(name: "X-Key", value: "secret"),
                HTTPHeader(name: "Content-Type", value: "text/plain"),
                HTTPHeader(name: "tus-resumable", value: "0.1"),
            ]
        }
        #expect(task.state == .completed)
        #expect(origin.requests.map(\.method) == ["POST", "PATCH", "HEAD", "PATCH"])
        #expect(origin.requests.allSatisfy { $0["X-Key"] == "secret" })
        #expect(origin.requests.allSatisfy { $0["Tus-Resumable"] == "1.0.0" })
        #expect(
            origin.requests.map { $0["Content-Type"] } == [
                nil, "application/offset+octet-stream", nil, "application/offset+octet-stream",
            ]
        )
    }

    /// The origin has the whole body and says what it thinks of it: asking it again, it would only
    /// say that it has it.
    @Test(arguments: [
        (500, "PUT", false), (500, "POST", false), (422, "PUT", false), (500, "PUT", true),
    ])
    func aRefusedBodyIsNoSuccess(status: Int, method: String, isKeptLate: Bool) async throws {
        let fixture = try await EngineFixture()
        let origin = try ResumableOrigin(.ietf) { request in
            guard request.method != method else { return nil }
            return .response(204, headers: [("Upload-Complete", "?1")])
        }
        origin.server.when("/refusing") { request in
            OriginScript([
                .head(104, [("Location", "/uploads/0"), ("Upload-Draft-Interop-Version", "8")]),
                .head(status, [("Upload-Complete", "?1"), ("Content-Length", "0")]),
            ])
        }
        try fixture.place(Self.body.bytes, at: "out/file")
        let url = origin.server.url("/refusing")
        let id = try await submit(fixture, to: url, .ietf, method: method)
        let holder = isKeptLate ? try await fixture.lockPlaces() : nil
        let task = try await fixture.withEngine { _ in
            if let holder { try await fixture.releasePlaces(holder, after: origin.server) }
            return try await fixture.ended(id)
        }
        #expect(task.failure?.httpStatus == status)
        #expect(task.attempt == (status == 500 && method == "PUT" ? 3 : 1))
        #expect(origin.requests.isEmpty)
    }

    /// The place outlives a suspension: the resumed task sends the rest.
    @Test func aSuspendedUploadIsContinued() async throws {
        let fixture = try await EngineFixture()
        try fixture.place(Self.body.bytes, at: "out/file")
        let gate = OriginGate()
        defer { gate.open() }
        let origin = try ResumableOrigin(.ietf, [.wait(at: 700_000, gate)])
        let id = try await submit(fixture, to: origin.url, .ietf)
        try await fixture.withEngine { engine in
            try await eventually("a part has arrived") { origin.bytesReceived == 700_000 }
            try await fixture.placesAreKept()
            _ = try await fixture.stores.control.suspendTask(tenant: fixture.tenant, id: id)
            engine.wake()
            try await eventually("it is suspended") {
                try await fixture.task(id).state == .suspended
            }
            _ = try await fixture.stores.control.resumeTask(tenant: fixture.tenant, id: id)
            engine.wake()
            #expect(try await fixture.ended(id).state == .completed)
        }
        try expectWhole(origin)
        #expect(origin.bytesReceived == Self.size)
    }

    /// A worker has died with a request that must not be sent twice.
    @Test(arguments: [true, false])
    func anOrphanIsContinuedIfItsPlaceIsKept(isKept: Bool) async throws {
        let fixture = try await EngineFixture()
        try fixture.place(Self.body.bytes, at: "out/file")
        let origin = try ResumableOrigin(.tus)
        let id = try await submit(fixture, to: origin.url, .tus, method: "POST", source: .data([1]))
        let dead = WorkerIdentity(
            incarnation: try await fixture.stores.workers.registerWorker(name: "dead")
        )
        let claim = try #require(try await fixture.stores.queue.claimAny(1, by: dead).first)
        if isKept {
            let resource = UploadResource(
                fence: claim.fence,
                dialect: .tus,
                url: origin.server.url("/there"),
                isAtOrigin: true,
                body: "data"
            )
            #expect(try await fixture.stores.uploadResources.keep(resource, of: claim))
        }
        origin.server.when("/there", .response(200, headers: [("Upload-Offset", "1")]))
        let task = try await fixture.withEngine {
            $0.heartbeatInterval = .milliseconds(50)
        } prepare: {
            try await fixture.loseWorkers(except: $0)
        } _: { _ in
            try await fixture.ended(id)
        }
        #expect(task.failure?.code == (isKept ? nil : .unknownOutcome))
        #expect(origin.requests.isEmpty)
    }
}
