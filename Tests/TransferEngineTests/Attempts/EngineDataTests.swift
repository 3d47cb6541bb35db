import Curl
import Foundation
import Postgres
import Testing
import TransferEngine
import TransferModel
import TransferStore
import TransferTestSupport

/// Data tasks, and the sessions that leave nothing behind.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineDataTests {
    private static let most = TransferRequest.Kind.data.answerBytesMax

    private func fixture() async throws -> EngineFixture {
        let fixture = try await EngineFixture()
        try await fixture.putEphemeral()
        return fixture
    }

    private func submit(
        _ fixture: EngineFixture,
        _ path: String = "/data",
        method: String? = nil,
        body: [UInt8]? = nil,
        change: (inout TaskSubmission) -> Void = { _ in }
    ) async throws -> TaskID {
        try await fixture.submit(fixture.origin.url(path), to: EngineFixture.ephemeral) {
            $0.request = TransferRequest(
                kind: .data,
                method: method,
                upload: body.map { .data($0) }
            )
            change(&$0)
        }
    }

    /// Runs one data task until it ends.
    private func run(
        _ fixture: EngineFixture,
        method: String? = nil,
        body: [UInt8]? = nil,
        retries: Bool = false,
        change: (inout TaskSubmission) -> Void = { _ in }
    ) async throws -> TransferTask {
        let id = try await submit(fixture, method: method, body: body, change: change)
        return try await fixture.withEngine {
            if !retries { $0.retryPolicy.attemptsMax = 1 }
        } _: { _ in
            try await fixture.ended(id)
        }
    }

    private func answer(to task: TransferTask, _ fixture: EngineFixture) async throws -> [UInt8]? {
        try await fixture.stores.tasks.responseBody(tenant: fixture.tenant, task: task.id)
    }

    /// A Latin-1 text, which is no UTF-8.
    @Test func keepsTheAnswerByteForByte() async throws {
        let fixture = try await fixture()
        let text: [UInt8] = [0x6D, 0xFC, 0x64, 0x65, 0x00, 0x0D, 0x0A]
        let type = "text/plain; charset=ISO-8859-1"
        fixture.origin.when(
            "/data",
            .response(headers: [("Content-Type", type)], body: .bytes(text))
        )
        let task = try await run(fixture)
        #expect(task.state == .completed)
        #expect(task.kind == .data)
        #expect(task.result?.contentType == type)
        #expect(task.result?.isLengthVerified == true)
        #expect(task.bytesReceived == Int64(text.count))
        #expect(task.bytesExpected == Int64(text.count))
        #expect(try await answer(to: task, fixture) == text)
        #expect(fixture.files().isEmpty)
    }

    @Test(arguments: [("POST", Array("a=\u{0}".utf8)), ("DELETE", nil)] as [(String, [UInt8]?)])
    func sendsAnyMethodWithAndWithoutABody(method: String, body: [UInt8]?) async throws {
        let fixture = try await fixture()
        fixture.origin.when("/data", .response(204))
        let task = try await run(fixture, method: method, body: body)
        #expect(task.state == .completed)
        #expect(task.result?.httpStatus == 204)
        #expect(task.bytesSent == Int64(body?.count ?? 0))
        #expect(task.bytesToSend == task.bytesSent)
        #expect(try await answer(to: task, fixture) == nil)
        let request = fixture.origin.log.now.requests(at: "/data").first
        #expect(request?.method == method)
        #expect(request?.body == body ?? [])
    }

    @Test func theLongestAnswerIsKeptWhole() async throws {
        let fixture = try await fixture()
        let body = OriginBody.random(seed: 61, size: Self.most)
        fixture.origin.when("/data", .response(body: body))
        let task = try await run(fixture)
        #expect(task.state == .completed)
        #expect(try await answer(to: task, fixture) == body.bytes)
    }

    /// The length is announced or not, and exceeds the kind's limit or that of the task.
    @Test(arguments: [(true, nil), (false, nil), (true, 10), (false, 10)] as [(Bool, Int64?)])
    func aLongerAnswerFailsAndIsNotKept(isAnnounced: Bool, sizeMax: Int64?) async throws {
        let fixture = try await fixture()
        let body = OriginBody.random(seed: 62, size: Int(sizeMax ?? Int64(Self.most)) + 1)
        fixture.origin.when("/data", isAnnounced ? .response(body: body) : .closeDelimited(body))
        let task = try await run(fixture, retries: true) { $0.options.sizeMax = sizeMax }
        #expect(task.failure?.code == .responseTooLarge)
        #expect(task.attempt == 1)
        #expect(try await answer(to: task, fixture) == nil)
    }

    @Test func theLengthOfWhatHEADAsksForIsNoMatter() async throws {
        let fixture = try await fixture()
        fixture.origin.when(
            "/data",
            OriginScript([.head(200, [("Content-Length", "99999999")])])
        )
        let task = try await run(fixture, method: "HEAD")
        #expect(task.state == .completed)
        #expect(task.bytesReceived == 0)
        #expect(task.result?.fields["content-length"] == "99999999")
    }

    @Test func aBrokenAnswerIsFetchedAgain() async throws {
        let fixture = try await fixture()
        let body = OriginBody.random(seed: 63, size: 1000)
        fixture.origin.when("/data") { request in
            request.numberAtPath == 1
                ? .cut(body, after: 500, .reset) : .response(body: body)
        }
        let task = try await run(fixture, retries: true)
        #expect(task.state == .completed)
        #expect(task.attempt == 2)
        #expect(try await answer(to: task, fixture) == body.bytes)
    }

    /// Only the result counts as received, not the body of a redirect.
    @Test func aRedirectIsFollowed() async throws {
        let fixture = try await fixture()
        fixture.origin.when(
            "/data",
            .response(303, headers: [("Location", "/end")], body: .text("elsewhere"))
        )
        fixture.origin.when("/end", .response(body: .text("here")))
        let task = try await run(fixture, method: "POST", body: [1])
        #expect(task.state == .completed)
        #expect(task.bytesReceived == 4)
        #expect(try await answer(to: task, fixture) == Array("here".utf8))
        #expect(fixture.origin.log.now.requests.map(\.method) == ["POST", "GET"])
    }

    @Test func theBeginOfAnErrorIsKept() async throws {
        let fixture = try await fixture()
        fixture.origin.when("/data", .response(404, body: .text("not here")))
        let task = try await run(fixture)
        #expect(task.failure?.httpStatus == 404)
        #expect(task.failure?.responseBody == Array("not here".utf8))
        #expect(task.bytesReceived == 0)
    }

    @Test(.enabled(if: NginxServer.isInstalled && CurlLoop.libraryVersion.hasHTTP2))
    func aDataTaskUsesHTTP2OnlyIfThatIsSoundAndADownloadOfAnySizeNever() async throws {
        let fixture = try await fixture()
        let authority = try await TestAuthority()
        let server = try await NginxServer(authority.issue(), of: authority, body: .text("x"))
        try await fixture.stores.tenants.setCertificateAuthorities(
            CertificateAuthorities(stored: authority.certificate),
            tenant: fixture.tenant
        )
        let forData = CurlLoop.libraryVersion.isHTTP2Sound ? "2" : "1.1"
        for (kind, version) in [(TransferRequest.Kind.data, forData), (.download, "1.1")] {
            let id = try await fixture.submit(server.url, to: EngineFixture.ephemeral) {
                $0.request = TransferRequest(kind: kind)
            }
            let task = try await fixture.withEngine { _ in try await fixture.ended(id) }
            #expect(task.state == .completed)
            let attempts = try await fixture.stores.tasks.attempts(tenant: fixture.tenant, task: id)
            #expect(attempts?.map(\.metrics?.httpVersion) == [version])
        }
    }

    /// Every kind continues after its worker died, unless its request must not be sent twice.
    @Test(arguments: [TransferRequest.Kind.download, .upload, .data], [true, false])
    func everyKindSurvivesItsWorker(kind: TransferRequest.Kind, isIdempotent: Bool) async throws {
        let fixture = try await fixture()
        fixture.origin.when("/data", .response(body: .text("x")))
        let id = try await fixture.submit(
            fixture.origin.url("/data"),
            to: EngineFixture.ephemeral
        ) {
            $0.request = TransferRequest(
                kind: kind,
                method: isIdempotent ? nil : "POST",
                upload: kind == .upload ? .data([1]) : nil
            )
        }
        let dead = WorkerIdentity(
            incarnation: try await fixture.stores.workers.registerWorker(name: "dead")
        )
        let claims = try await fixture.stores.queue.claimAny(1, by: dead)
        #expect(claims.map(\.request.kind) == [kind])
        let task = try await fixture.withEngine {
            $0.heartbeatInterval = .milliseconds(50)
        } prepare: {
            try await fixture.loseWorkers(except: $0)
        } _: { _ in
            try await fixture.ended(id)
        }
        #expect(task.failure?.code == (isIdempotent ? nil : .unknownOutcome))
        #expect(fixture.origin.log.now.requests.count == (isIdempotent ? 1 : 0))
    }

    /// The worker stops while the origin has the request, or has redirected it already.
    @Test(arguments: [TransferRequest.Kind.download, .upload, .data], [true, false])
    func aStoppedWorkerLeavesWhatMayBeSentTwice(
        kind: TransferRequest.Kind,
        isRedirected: Bool
    ) async throws {
        let fixture = try await fixture()
        let waiting = OriginScript([.wait(OriginGate()), .close])
        fixture.origin.when(
            "/data",
            isRedirected ? .response(303, headers: [("Location", "/end")]) : waiting
        )
        fixture.origin.when("/end", waiting)
        var ids: [TaskID] = []
        for isIdempotent in [true, false] {
            ids.append(
                try await fixture.submit(
                    fixture.origin.url("/data"),
                    to: EngineFixture.ephemeral
                ) {
                    $0.request = TransferRequest(kind: kind, method: "POST", upload: .data([1]))
                    $0.options.isIdempotent = isIdempotent
                }
            )
        }
        try await fixture.withEngine { _ in
            await fixture.origin.log.arrived(2, at: isRedirected ? "/end" : "/data")
        }
        let (harmless, harmful) = (
            try await fixture.task(ids[0]), try await fixture.task(ids[1])
        )
        #expect(harmless.state == .queued)
        #expect(harmless.attempt == 0)
        #expect(harmful.state == .failed)
        #expect(harmful.failure?.code == .unknownOutcome)
    }

    /// What the first origin has acted on would be sent to it again.
    @Test(arguments: [TransferRequest.Kind.download, .upload, .data])
    func aRedirectToNowhereIsNoReasonToSendTwice(kind: TransferRequest.Kind) async throws {
        let fixture = try await fixture()
        let nowhere = try HeldPort()
        defer { withExtendedLifetime(nowhere) {} }
        fixture.origin.when("/data", .redirect(303, to: "http://127.0.0.1:\(nowhere.number)/"))
        let id = try await fixture.submit(fixture.origin.url("/data"), to: EngineFixture.ephemeral)
        {
            $0.request = TransferRequest(kind: kind, method: "POST", upload: .data([1]))
            $0.options.waitsForConnectivity = false
        }
        let task = try await fixture.withEngine { _ in try await fixture.ended(id) }
        #expect(task.failure?.code == .unknownOutcome)
        #expect(fixture.origin.log.now.requests(at: "/data").count == 1)
    }

    /// Rows and files of all kinds of tasks, ended, running and waiting, are gone; a file with a
    /// name stays.
    @Test func afterAnEphemeralSessionNothingIsLeft() async throws {
        let fixture = try await fixture()
        let body = OriginBody.random(seed: 64, size: 1_000_000)
        fixture.origin.when("/file") { .file(body, etag: #""a""#, for: $0) }
        fixture.origin.when("/data", .response(body: .text("x")))
        fixture.origin.when("/in", .response(201))
        let gate = OriginGate()
        fixture.origin.when("/slow") {
            .file(body, etag: #""a""#, for: $0, pause: (600_000, gate))
        }
        let ephemeral = EngineFixture.ephemeral
        let file = fixture.origin.url("/file")
        let kept = try await fixture.submit(file, to: ephemeral) {
            $0.destination = Destination(path: "named", overwrite: false)
        }
        let ended = [
            kept, try await fixture.submit(file, to: ephemeral), try await submit(fixture),
        ]
        let staged = try await fixture.submit(fixture.origin.url("/in"), to: ephemeral) {
            $0.request = TransferRequest(upload: .staged)
        }
        try fixture.place([1, 2, 3], at: ResultLocation.bodyPath(of: staged))
        let running = try await fixture.submit(fixture.origin.url("/slow"), to: ephemeral)
        let cancelled = try await fixture.submit(fixture.origin.url("/slow"), to: ephemeral)
        let aside = try await TestDatabase.current.connection()
        try await fixture.withEngine {
            $0.heartbeatInterval = .milliseconds(50)
        } _: { engine in
            try await fixture.expectCompletion(ended)
            for id in [running, cancelled] { try await fixture.received(600_000, of: id) }
            _ = try await fixture.stores.control.cancelTask(
                tenant: fixture.tenant,
                id: cancelled,
                producing: ResumeDataID(UUID())
            )
            let isEnded = try await fixture.stores.sessions.invalidateSession(
                tenant: fixture.tenant,
                identifier: ephemeral
            )
            #expect(isEnded)
            for id in ended + [running, staged] {
                #expect(try await fixture.stores.tasks.task(tenant: fixture.tenant, id: id) == nil)
                #expect(
                    try await fixture.stores.tasks.attempts(tenant: fixture.tenant, task: id) == nil
                )
                let answer = try await fixture.stores.tasks.responseBody(
                    tenant: fixture.tenant,
                    task: id
                )
                #expect(answer == nil)
            }
            engine.wake()
            try await eventually("all is erased") {
                try await aside.execute("SELECT 1 FROM session WHERE kind = 'ephemeral'").isEmpty
            }
            try await eventually("the files are gone") { fixture.files() == ["named"] }
        }
        for table in Self.tables {
            let rows = try await aside.execute(
                "SELECT count(*) AS count FROM \(identifier: table)"
            )
            // The fixture has a session without tasks.
            let isThere = table.hasPrefix("session")
            #expect(try rows[0].decode("count", as: Int64.self) == (isThere ? 1 : 0), "\(table)")
        }
        await aside.close()
        #expect(try fixture.content("named") == body.bytes)
    }

    /// The tables that may hold data of a task or session.
    private static let tables = [
        "session", "session_progress", "task", "held", "delayed", "ready_run", "attempt_run",
        "attempt", "rename_run", "outcome", "attempt_log", "partial", "resume_data",
        "abandoned_part", "revocation",
        "cancellation", "erasure", "event_run", "delivery",
    ]
}
