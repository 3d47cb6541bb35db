import Foundation
import Glibc
import Postgres
import Testing
import TransferEngine
import TransferModel
import TransferStore
import TransferTestSupport

/// The transfer of bytes to the origin.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineUploadTests {
    private static let body = OriginBody.random(seed: 51, size: 2_000_000)
    private static let size = Int64(body.count)

    /// Uploads `source` to `/in`, which answers with `script`.
    private func upload(
        _ fixture: EngineFixture,
        _ source: TransferRequest.UploadSource = .file(path: "out/file"),
        method: String? = nil,
        readsBody: Bool = true,
        retries: Bool = false,
        to script: @escaping LoopbackOrigin.Responder = { _ in .response(201) },
        change: (inout TaskSubmission) -> Void = { _ in }
    ) async throws -> TransferTask {
        fixture.origin.when("/in", readsBody: readsBody, script)
        let id = try await fixture.submit(fixture.origin.url("/in")) {
            $0.request = TransferRequest(method: method, upload: source)
            change(&$0)
        }
        if source == .staged {
            try fixture.place(Self.body.bytes, at: ResultLocation.bodyPath(of: id))
            let ready = try await fixture.stores.control.completeBody(
                tenant: fixture.tenant,
                id: id
            )
            #expect(ready?.state == .queued)
        }
        return try await fixture.withEngine {
            if !retries { $0.retryPolicy.attemptsMax = 1 }
        } _: { _ in
            try await fixture.ended(id)
        }
    }

    private func sent(_ fixture: EngineFixture, _ path: String = "/in") -> [OriginRequest] {
        fixture.origin.log.now.requests(at: path)
    }

    @Test(arguments: [TransferRequest.UploadSource.file(path: "out/file"), .staged])
    func sendsAFile(source: TransferRequest.UploadSource) async throws {
        let fixture = try await EngineFixture()
        try fixture.place(Self.body.bytes, at: "out/file")
        let answer = OriginBody.text(#"{"id": 7}"#)
        let task = try await upload(fixture, source) { _ in
            .response(201, headers: [("Content-Type", "application/json")], body: answer)
        } change: {
            $0.headers = [HTTPHeader("X-A", "b")]
        }
        #expect(task.state == .completed)
        #expect(task.kind == .upload)
        #expect(task.bytesSent == Self.size)
        #expect(task.bytesToSend == Self.size)
        #expect(task.result?.httpStatus == 201)
        #expect(task.result?.contentType == "application/json")
        #expect(task.result?.isTruncated == false)
        let kept = try await fixture.stores.tasks.responseBody(
            tenant: fixture.tenant,
            task: task.id
        )
        #expect(kept == answer.bytes)
        let request = try #require(sent(fixture).first)
        #expect(request.method == "PUT")
        #expect(request.bodyCount == Self.body.count)
        #expect(request["Content-Length"] == "\(Self.size)")
        #expect(request["X-A"] == "b")
        #expect(request.body == Self.body.bytes(in: 0..<request.body.count))
        let kinds = try await fixture.events().map(\.kind)
        #expect(kinds.suffix(2) == [.taskCompleted, .sessionEventsFinished])
        #expect(!kinds.contains(.taskDownloadFinished))
        let attempts = try await fixture.stores.tasks.attempts(
            tenant: fixture.tenant,
            task: task.id
        )
        #expect(attempts?.map(\.bytesSent) == [Self.size])
    }

    @Test(arguments: [[], Array("a\u{0}b".utf8)] as [[UInt8]])
    func sendsWhatCameWithTheTask(data: [UInt8]) async throws {
        let fixture = try await EngineFixture()
        let task = try await upload(fixture, .data(data), method: "PATCH")
        #expect(task.state == .completed)
        #expect(task.bytesSent == Int64(data.count))
        #expect(sent(fixture).map(\.method) == ["PATCH"])
        #expect(sent(fixture).map(\.body) == [data])
    }

    @Test func anEmptyFileIsSentAsThat() async throws {
        let fixture = try await EngineFixture()
        try fixture.place([], at: "out/file")
        let task = try await upload(fixture)
        #expect(task.state == .completed)
        #expect(sent(fixture).first?["Content-Length"] == "0")
    }

    @Test(arguments: ["absent", "out", "link", "pipe"])
    func whatIsNoFileIsNotSent(path: String) async throws {
        let fixture = try await EngineFixture()
        try fixture.place([1], at: "out/file")
        symlink("/etc/passwd", "\(fixture.container)/link")
        mkfifo("\(fixture.container)/pipe", 0o600)
        let task = try await upload(fixture, .file(path: path), retries: true)
        #expect(task.failure?.code == .sourceMissing)
        #expect(task.attempt == 1)
        #expect(sent(fixture).isEmpty)
    }

    /// Fault T17.
    @Test(arguments: [true, false])
    func aFileThatChangesIsNotPassedOffAsWhole(shrinks: Bool) async throws {
        let fixture = try await EngineFixture()
        try fixture.place(Self.body.bytes, at: "out/file")
        let path = "\(fixture.container)/out/file"
        let task = try await upload(fixture, readsBody: false, retries: true) { _ in
            if shrinks {
                truncate(path, 100)
            } else {
                let handle = FileHandle(forWritingAtPath: path)
                handle?.write(Data([1, 2, 3]))
                try? handle?.close()
            }
            return .response(201)
        }
        #expect(task.failure?.code == .sourceChanged)
    }

    @Test func anUploadThatBreaksIsSentAgainFromItsBegin() async throws {
        let fixture = try await EngineFixture()
        try fixture.place(Self.body.bytes, at: "out/file")
        let task = try await upload(fixture, retries: true) { request in
            request.numberAtPath == 1 ? OriginScript([.reset]) : .response(200)
        }
        #expect(task.state == .completed)
        #expect(task.attempt == 2)
        #expect(sent(fixture).map(\.bodyCount) == [Self.body.count, Self.body.count])
    }

    /// Fault T16: nobody knows whether the first request was acted on.
    @Test(arguments: [false, true])
    func whatMustNotBeSentTwiceIsNot(isDeclaredIdempotent: Bool) async throws {
        let fixture = try await EngineFixture()
        try fixture.place(Self.body.bytes, at: "out/file")
        let task = try await upload(fixture, method: "POST", retries: true) { request in
            request.numberAtPath == 1 ? OriginScript([.reset]) : .response(200)
        } change: {
            if isDeclaredIdempotent { $0.options.isIdempotent = true }
        }
        #expect(task.failure?.code == (isDeclaredIdempotent ? nil : .unknownOutcome))
        #expect(sent(fixture).count == (isDeclaredIdempotent ? 2 : 1))
    }

    /// libcurl itself repeats a request when a kept connection turns out to be dead.
    @Test(arguments: [("POST", true, 1), ("POST", false, 1), ("PUT", true, 2)])
    func aKeptConnectionIsNoReasonToSendTwice(
        method: String,
        isUpload: Bool,
        count: Int
    ) async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/first", .response(200))
        fixture.origin.when("/in") { request in
            request.numberAtPath == 1 ? OriginScript([.close]) : .response(200)
        }
        try await fixture.withEngine {
            $0.retryPolicy.attemptsMax = 1
        } _: { engine in
            let first = try await fixture.submit(fixture.origin.url("/first")) {
                $0.request = TransferRequest(method: "PUT", upload: .data([1]))
            }
            engine.wake()
            #expect(try await fixture.ended(first).state == .completed)
            let second = try await fixture.submit(fixture.origin.url("/in")) {
                $0.request = TransferRequest(method: method, upload: isUpload ? .data([2]) : nil)
            }
            engine.wake()
            let task = try await fixture.ended(second)
            #expect(task.failure?.code == (method == "POST" ? .unknownOutcome : nil))
        }
        #expect(sent(fixture).count == count)
    }

    @Test(arguments: [(503, 2), (429, 2), (425, 2), (500, 1), (502, 1), (504, 1)])
    func whatTheOriginRefusedIsSentAgainWhereThatIsSafe(status: Int, count: Int) async throws {
        let fixture = try await EngineFixture()
        let task = try await upload(fixture, .data([1]), method: "POST", retries: true) { request in
            .response(request.numberAtPath == 1 ? status : 200)
        }
        #expect(sent(fixture).count == count)
        #expect(task.failure?.httpStatus == (count == 1 ? status : nil))
        #expect(task.failure?.isRetryable ?? false == false)
    }

    @Test func anEarlyAnswerEndsTheUpload() async throws {
        let fixture = try await EngineFixture()
        try fixture.place(Self.body.bytes, at: "out/file")
        let task = try await upload(fixture, readsBody: false) { _ in
            OriginScript([
                .head(413, [("Content-Length", "8"), ("Connection", "close")]),
                .body(.text("too long")),
            ])
        }
        #expect(task.failure?.httpStatus == 413)
        #expect(task.failure?.responseBody == Array("too long".utf8))
    }

    /// An origin may answer before it has all of the body, but nobody is told that it has.
    @Test func anEarlySuccessIsNotPassedOffAsWhollySent() async throws {
        let fixture = try await EngineFixture()
        // More than the sockets' buffers hold.
        let size = 50_000_000
        try fixture.place([UInt8](repeating: 1, count: size), at: "out/file")
        let gate = OriginGate()
        defer { gate.open() }
        let task = try await upload(fixture, readsBody: false) { _ in
            OriginScript([
                .head(200, [("Content-Length", "2"), ("Connection", "close")]),
                .body(.text("ok")), .wait(gate), .close,
            ])
        }
        #expect(task.state == .completed)
        #expect(task.bytesSent < Int64(size))
        #expect(task.bytesToSend == Int64(size))
    }

    @Test(arguments: [
        (307, "PUT", "PUT"), (308, "PUT", "PUT"), (307, "POST", "POST"), (303, "POST", "GET"),
        (302, "POST", "GET"), (301, "PUT", "PUT"),
    ])
    func aRedirectKeepsOrDropsTheBody(status: Int, method: String, next: String) async throws {
        let fixture = try await EngineFixture()
        try fixture.place(Self.body.bytes, at: "out/file")
        fixture.origin.when("/there", .response(200))
        let task = try await upload(fixture, method: method) { _ in
            .redirect(status, to: "/there")
        }
        #expect(task.state == .completed)
        let request = try #require(sent(fixture, "/there").first)
        #expect(request.method == next)
        #expect(request.bodyCount == (next == "GET" ? 0 : Self.body.count))
    }

    /// A body is for the origin that its client has named.
    @Test(arguments: [
        (307, "PUT", true), (308, "POST", true), (301, "PUT", true), (303, "POST", false),
    ])
    func aRedirectElsewhereTakesTheBodyOnlyIfAsked(
        status: Int,
        method: String,
        hasBody: Bool
    ) async throws {
        let fixture = try await EngineFixture()
        let other = try LoopbackOrigin()
        defer { other.stop() }
        for isAsked in [false, true] {
            let path = "/there-\(isAsked)"
            other.when(path, .response(200))
            fixture.origin.when("/in-\(isAsked)", .redirect(status, to: other.url(path)))
            let id = try await fixture.submit(fixture.origin.url("/in-\(isAsked)")) {
                $0.request = TransferRequest(
                    kind: .upload,
                    method: method,
                    upload: .data([1, 2, 3])
                )
                if isAsked { $0.options.sendsBodyToOtherOrigins = true }
            }
            let task = try await fixture.withEngine { _ in try await fixture.ended(id) }
            let requests = other.log.now.requests(at: path)
            guard !hasBody || isAsked else {
                #expect(task.failure?.code == .badRedirect)
                #expect(requests.isEmpty)
                continue
            }
            #expect(task.state == .completed)
            #expect(requests.map(\.bodyCount) == [hasBody ? 3 : 0])
        }
    }

    @Test func aLongAnswerIsCut() async throws {
        let fixture = try await EngineFixture()
        let task = try await upload(fixture, .data([1])) { _ in .response(body: Self.body) }
        #expect(task.state == .completed)
        #expect(task.result?.isLengthVerified == false)
        #expect(task.result?.isTruncated == true)
        let kept = try await fixture.stores.tasks.responseBody(
            tenant: fixture.tenant,
            task: task.id
        )
        #expect(kept == Self.body.bytes(in: 0..<TransferRequest.Kind.upload.answerBytesMax))
    }

    @Test func aLongRedirectSaysNothingOfTheNextAnswer() async throws {
        let fixture = try await EngineFixture()
        let closed = try HeldPort()
        let task = try await upload(fixture, .data([1])) { _ in
            .response(
                303,
                headers: [("Location", "http://127.0.0.1:\(closed.number)/")],
                body: Self.body
            )
        }
        #expect(task.failure?.code == .couldNotConnect)
    }

    @Test func cancellingStopsTheBytes() async throws {
        let fixture = try await EngineFixture()
        // More than the sockets' buffers hold.
        try fixture.place([UInt8](repeating: 1, count: 50_000_000), at: "out/file")
        let gate = OriginGate()
        fixture.origin.when("/in", readsBody: false) { _ in OriginScript([.wait(gate), .close]) }
        let id = try await fixture.submit(fixture.origin.url("/in")) {
            $0.request = TransferRequest(upload: .file(path: "out/file"))
        }
        try await fixture.withEngine { engine in
            try await eventually("bytes are on their way") {
                try await fixture.task(id).bytesSent > 0
            }
            _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: id)
            engine.wake()
            // Removed once the attempt has ended; the origin, which reads nothing, sees no end.
            let aside = try await TestDatabase.current.connection()
            try await eventually("the attempt has ended") {
                try await aside.execute("SELECT 1 FROM revocation").isEmpty
            }
            await aside.close()
        }
        gate.open()
        let attempts = try await fixture.stores.tasks.attempts(tenant: fixture.tenant, task: id)
        #expect(attempts?.map(\.outcome) == [.cancelled])
        #expect(try await fixture.task(id).state == .cancelled)
    }

    @Test func aDownloadMayUseAnotherMethod() async throws {
        let fixture = try await EngineFixture()
        let task = try await fixture.download(.response(body: Self.body)) {
            $0.request = TransferRequest(method: "POST")
        }
        #expect(try fixture.content(task) == Self.body.bytes)
        #expect(fixture.origin.log.now.requests.map(\.method) == ["POST"])
    }

    /// What ails the database passes, and says nothing of the upload.
    @Test func anUploadWhoseEndIsRefusedIsSentOnce() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/in", .response(200))
        let id = try await fixture.submit(fixture.origin.url("/in")) {
            $0.request = TransferRequest(method: "POST", upload: .data([1]))
        }
        try await fixture.refuseOutcomes(sqlState: "XX000", "unexpected data")
        let task = try await fixture.withEngine { engine in
            try await eventually("it is told") { engine.isAnyEndFailed }
            try await EngineFixture.interfereNoLonger()
            return try await fixture.ended(id)
        }
        #expect(task.state == .completed)
        #expect(sent(fixture).count == 1)
    }

    /// A worker has died with a request that must not be sent twice.
    @Test(arguments: ["POST", "PUT"])
    func anOrphanIsSentAgainOnlyIfThatDoesNoHarm(method: String) async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/in", .response(200))
        let id = try await fixture.submit(fixture.origin.url("/in")) {
            $0.request = TransferRequest(method: method, upload: .data([1]))
        }
        let dead = WorkerIdentity(
            incarnation: try await fixture.stores.workers.registerWorker(name: "dead")
        )
        _ = try await fixture.stores.queue.claimAny(1, by: dead)
        let task = try await fixture.withEngine {
            $0.heartbeatInterval = .milliseconds(50)
        } prepare: {
            try await fixture.loseWorkers(except: $0)
        } _: { _ in
            try await fixture.ended(id)
        }
        #expect(task.failure?.code == (method == "POST" ? .unknownOutcome : nil))
        #expect(sent(fixture).count == (method == "POST" ? 0 : 1))
    }
}

extension HTTPHeader {
    fileprivate init(_ name: String, _ value: String) { self.init(name: name, value: value) }
}
