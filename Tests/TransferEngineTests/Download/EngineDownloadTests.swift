import Curl
import Foundation
import Testing
import TransferEngine
import TransferModel
import TransferStore
import TransferTestSupport

@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineDownloadTests {
    private static let body = OriginBody.random(seed: 7, size: 300_000)

    @Test(arguments: [
        (nil, "file"), ("attachment; filename=report.pdf", "report.pdf"),
        ("attachment; filename=\"../../etc/passwd\"", "passwd"),
    ])
    func theNameOfTheFileIsSuggested(field: String?, name: String) async throws {
        let fixture = try await EngineFixture()
        let headers = field.map { [(name: "Content-Disposition", value: $0)] } ?? []
        let task = try await fixture.download(.response(headers: headers, body: .text("x")))
        #expect(task.result?.suggestedFileName == name)
    }

    @Test func storesWhatTheOriginSent() async throws {
        let fixture = try await EngineFixture()
        let task = try await fixture.download(
            .response(headers: [("ETag", "\"1\""), ("Content-Type", "image/png")], body: Self.body)
        )
        #expect(task.state == .completed)
        #expect(try fixture.content(task) == Self.body.bytes)
        #expect(
            task.result
                == TransferResult(
                    httpStatus: 200,
                    bytesReceived: 300_000,
                    fields: KeptFields(of: [("ETag", "\"1\""), ("Content-Type", "image/png")]),
                    isLengthVerified: true,
                    suggestedFileName: "file"
                )
        )
        #expect(task.bytesExpected == 300_000)
        try await fixture.expectNoParts()
    }

    @Test func anEmptyBodyIsAnEmptyFile() async throws {
        let fixture = try await EngineFixture()
        let task = try await fixture.download(.response())
        #expect(task.state == .completed)
        #expect(try fixture.content(task) == [])
        #expect(task.result?.isLengthVerified == true)
    }

    @Test func aBodyThatEndsWithTheConnectionIsStoredUnverified() async throws {
        let fixture = try await EngineFixture()
        let task = try await fixture.download(.closeDelimited(Self.body))
        #expect(task.state == .completed)
        #expect(try fixture.content(task) == Self.body.bytes)
        #expect(task.result?.isLengthVerified == false)
    }

    @Test func anAnswerOtherThanTheFileFailsAtOnce() async throws {
        let fixture = try await EngineFixture()
        let task = try await fixture.download(
            .response(404, body: .text("not here")),
            retries: true
        )
        #expect(task.state == .failed)
        #expect(task.failure?.code == .httpStatus)
        #expect(task.failure?.httpStatus == 404)
        #expect(task.attempt == 1)
        #expect(fixture.files().isEmpty)
    }

    @Test func triesAgainWhatMayPass() async throws {
        let fixture = try await EngineFixture()
        fixture.origin.when("/file") { request in
            request.numberAtPath == 1 ? .response(500) : .response(body: Self.body)
        }
        let id = try await fixture.submit(fixture.origin.url("/file"))
        let task = try await fixture.withEngine { _ in try await fixture.ended(id) }
        #expect(task.state == .completed)
        #expect(task.attempt == 2)
        #expect(try fixture.content(task) == Self.body.bytes)
        let events = try #require(
            try await fixture.stores.events.events(
                tenant: fixture.tenant,
                sessionIdentifier: EngineFixture.identifier,
                after: 0,
                limit: 10
            )
        )
        #expect(
            events.map(\.kind) == [
                .taskCreated, .taskWaiting, .taskDownloadFinished, .taskCompleted,
                .sessionEventsFinished,
            ]
        )
        try await fixture.expectNoParts()
    }

    @Test func givesUpAfterTheLastAttempt() async throws {
        let fixture = try await EngineFixture()
        let task = try await fixture.download(.response(503), retries: true)
        #expect(task.state == .failed)
        #expect(task.attempt == 3)
        #expect(fixture.origin.log.now.requests.count == 3)
    }

    @Test func aSilentOriginIsGivenUp() async throws {
        let fixture = try await EngineFixture()
        try await fixture.putSession(SessionConfiguration(timeoutForRequest: .milliseconds(100)))
        let task = try await fixture.download(.gated(Self.body, after: 1000, OriginGate()))
        #expect(task.failure?.code == .timedOut)
        try await fixture.expectNoParts()
    }

    @Test func anAttemptAsAWholeHasItsTime() async throws {
        let fixture = try await EngineFixture()
        try await fixture.putSession(SessionConfiguration(timeoutForResource: .milliseconds(100)))
        let task = try await fixture.download(
            OriginScript([.head(200), .forever(Array("drip".utf8))])
        )
        #expect(task.failure?.code == .timedOut)
        try await fixture.expectNoParts()
    }

    @Test(arguments: [true, false])
    func aBodyThatIsCutIsNoFile(inOrder: Bool) async throws {
        let fixture = try await EngineFixture()
        let task = try await fixture.download(
            .cut(Self.body, after: 100_000, inOrder ? .close : .reset)
        )
        #expect(task.state == .failed)
        #expect(task.failure?.code == (inOrder ? .lengthMismatch : .connectionLost))
        #expect(task.failure?.isRetryable == true)
        #expect(fixture.files().isEmpty)
    }

    @Test func aChunkedBodyWithoutItsEndIsNoFile() async throws {
        let fixture = try await EngineFixture()
        let task = try await fixture.download(
            OriginScript([
                .head(200, [("Transfer-Encoding", "chunked")]),
                .chunks(Self.body, size: 10_000, isEnded: false), .close,
            ])
        )
        #expect(task.state == .failed)
        #expect(fixture.files().isEmpty)
    }

    @Test func aLengthThatLiesDownNeverGivesMoreThanItSaid() async throws {
        let fixture = try await EngineFixture()
        let task = try await fixture.download(
            OriginScript([.head(200, [("Content-Length", "10")]), .body(Self.body), .close])
        )
        // libcurl reads the announced bytes and drops the connection with the rest.
        if task.state == .completed {
            #expect(try fixture.content(task) == Array(Self.body.bytes.prefix(10)))
        } else {
            #expect(fixture.files().isEmpty)
        }
    }

    @Test(arguments: [
        [("Content-Length", "10"), ("Content-Length", "20")], [("Content-Length", "-1")],
        [("Content-Length", "ten")], [("Content-Length", "99999999999999999999999")],
    ])
    func aLengthThatMakesNoSenseIsABadResponse(
        headers: [(name: String, value: String)]
    ) async throws {
        let fixture = try await EngineFixture()
        let task = try await fixture.download(
            OriginScript([.head(200, headers), .body(.text("0123456789")), .close])
        )
        #expect(task.failure?.code == .badResponse)
        #expect(fixture.files().isEmpty)
    }

    @Test(arguments: [OriginScript.response(body: body), .closeDelimited(body)])
    func aFileBeyondTheLimitIsRefused(script: OriginScript) async throws {
        let fixture = try await EngineFixture()
        let task = try await fixture.download(script, configure: { $0.fileBytesMax = 100_000 })
        #expect(task.failure?.code == .fileTooLarge)
        try await fixture.expectNoParts()
    }

    @Test func anOriginInAForbiddenNetworkIsNotAsked() async throws {
        let fixture = try await EngineFixture()
        let policy = EgressPolicy()
        let task = try await fixture.download(
            .response(body: Self.body),
            configure: { $0.egress = EgressGuard { policy.allows($0.bytes) } }
        )
        #expect(task.failure?.code == .egressDenied)
        #expect(fixture.origin.log.now.requests.isEmpty)
    }

    @Test func sendsTheHeadersOfTaskAndSession() async throws {
        let fixture = try await EngineFixture()
        try await fixture.putSession(
            SessionConfiguration(additionalHeaders: [
                HTTPHeader(name: "X-Session", value: "session"),
                HTTPHeader(name: "X-Both", value: "session"),
            ])
        )
        let task = try await fixture.download(.response(body: Self.body)) {
            $0.headers = [
                HTTPHeader(name: "x-both", value: "task"),
                HTTPHeader(name: "Authorization", value: "Bearer é"),
            ]
        }
        #expect(task.state == .completed)
        let request = try #require(fixture.origin.log.now.requests.first)
        #expect(request["X-Session"] == "session")
        #expect(
            request.headers.filter { $0.name.lowercased() == "x-both" }.map(\.value) == ["task"]
        )
        #expect(request["Authorization"] == "Bearer é")
        #expect(request["Accept-Encoding"] == "identity")
        #expect(request["Range"] == nil)
    }
}
