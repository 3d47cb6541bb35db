import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferEngine

/// Origins that require authentication.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineCredentialTests {
    private static let body = OriginBody.random(seed: 71, size: 5000)

    /// Answers 401 unless the request has the value `expected` in `field`.
    private static func locked(
        _ fixture: EngineFixture,
        _ expected: String,
        field: String = "Authorization"
    ) {
        fixture.origin.when("/file") { request in
            guard request[field] == expected else {
                let challenge = ("WWW-Authenticate", "Bearer realm=\"files\"")
                return .response(401, headers: [challenge])
            }
            return .response(body: body)
        }
    }

    private static func put(
        _ fixture: EngineFixture,
        _ form: Credential.Form,
        _ secret: String,
        name: String = "api",
        origins: [Origin] = []
    ) async throws {
        _ = try await fixture.stores.credentials.putCredential(
            tenant: fixture.tenant,
            name: name,
            form: form,
            origins: origins,
            secrets: Credential.Secrets(main: Secret(secret))
        )
    }

    private static func submit(
        _ fixture: EngineFixture,
        _ path: String = "/file",
        credential: String? = "api",
        _ change: (inout TaskSubmission) -> Void = { _ in }
    ) async throws -> TaskID {
        try await fixture.submit(fixture.origin.url(path)) {
            $0.options.credential = credential
            change(&$0)
        }
    }

    private static func asks(_ fixture: EngineFixture, _ id: TaskID) async throws {
        try await eventually("the task asks for a credential") {
            try await fixture.task(id).state == .waitingForAuthentication
        }
    }

    @Test(arguments: [
        (Credential.Form.bearer, "Authorization", "Bearer s3cret"),
        (.basic(username: "me"), "Authorization", "Basic bWU6czNjcmV0"),
        (.header(name: "X-Api-Key"), "X-Api-Key", "s3cret"),
    ])
    func aStoredCredentialIsShown(
        form: Credential.Form,
        field: String,
        value: String
    ) async throws {
        let fixture = try await EngineFixture()
        Self.locked(fixture, value, field: field)
        try await Self.put(fixture, form, "s3cret")
        let id = try await Self.submit(fixture) {
            // The credential replaces a header of its name.
            $0.headers = [HTTPHeader(name: field.lowercased(), value: "other")]
        }
        let task = try await fixture.withEngine { _ in
            try await fixture.ended(id)
        }
        #expect(task.state == .completed)
        #expect(task.attempt == 1)
        #expect(fixture.origin.log.now.requests.count == 1)
    }

    @Test func aCertificateIsShownInTheHandshake() async throws {
        let fixture = try await EngineFixture()
        let authority = try await TestAuthority()
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        let server = try await TLSServer(
            authority.issue(),
            of: authority,
            .answer(Array(answer.utf8)),
            options: ["-Verify", "1", "-verify_return_error", "-CAfile", authority.certificatePath]
        )
        let own = try await authority.issue(names: "DNS:client")
        let pem = String(decoding: own.certificate, as: UTF8.self)
        try await Self.put(
            fixture,
            .clientCertificate(pem: pem),
            String(decoding: own.key, as: UTF8.self)
        )
        for (credential, state) in [("api", TransferState.completed), (nil, .failed)] {
            let id = try await fixture.submit(server.url()) {
                $0.options.credential = credential
                $0.options.certificateAuthorities = CertificateAuthorities(
                    stored: authority.certificate
                )
            }
            let task = try await fixture.withEngine {
                $0.retryPolicy.attemptsMax = 1
            } _: { _ in
                try await fixture.ended(id)
            }
            #expect(task.state == state)
        }
    }

    @Test func aTaskWithoutACredentialAsksAndGoesOnWithTheAnswer() async throws {
        let fixture = try await EngineFixture()
        Self.locked(fixture, "Bearer good")
        let id = try await Self.submit(fixture, credential: nil)
        let sibling = try await Self.submit(fixture, credential: nil)
        try await fixture.withEngine { engine in
            try await Self.asks(fixture, id)
            try await Self.asks(fixture, sibling)
            let waiting = try await fixture.task(id)
            #expect(waiting.failure?.httpStatus == 401)
            #expect(
                waiting.failure?.challenges
                    == [AuthenticationChallenge(scheme: "Bearer", realm: "files")]
            )
            #expect(waiting.waitsUntil != nil)
            let answer = CredentialAnswer.given(
                .bearer,
                Credential.Secrets(main: Secret("good"))
            )
            _ = try await fixture.stores.questions.answerChallenge(
                tenant: fixture.tenant,
                id: id,
                with: answer
            )
            engine.wake()
            try await fixture.expectCompletion([id, sibling])
            // A later task need not ask.
            let later = try await Self.submit(fixture, credential: nil)
            engine.wake()
            try await fixture.expectCompletion([later])
            #expect(try await fixture.task(later).attempt == 1)
        }
        // The question did not count as an attempt.
        #expect(try await fixture.task(id).attempt == 1)
        #expect(try await fixture.attempts(id).map(\.outcome) == [.retried, .completed])
        let kinds = try await fixture.events().filter { $0.task?.id == id }.map(\.kind)
        #expect(
            kinds == [
                .taskCreated, .taskAuthenticationRequired, .taskResumed, .taskDownloadFinished,
                .taskCompleted,
            ]
        )
    }

    @Test func aChangedCredentialIsTheAnswer() async throws {
        let fixture = try await EngineFixture()
        Self.locked(fixture, "Bearer new")
        try await Self.put(fixture, .bearer, "old")
        let refused = try await Self.submit(fixture)
        let missing = try await Self.submit(fixture, credential: "later")
        try await fixture.withEngine { engine in
            try await Self.asks(fixture, refused)
            try await Self.asks(fixture, missing)
            #expect(try await fixture.task(missing).failure?.code == .credentialUnusable)
            try await Self.put(fixture, .bearer, "new")
            engine.wake()
            try await fixture.expectCompletion([refused])
            var change = TaskChange()
            change.credential = "api"
            _ = try await fixture.stores.control.changeTask(
                tenant: fixture.tenant,
                id: missing,
                change
            )
            engine.wake()
            try await fixture.expectCompletion([missing])
        }
    }

    @Test func anAnswerThatComesWhileASiblingIsUnderwayIsNotMissed() async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        fixture.origin.when("/slow") { request in
            guard request["Authorization"] == "Bearer good" else {
                return OriginScript([.wait(gate), .head(401, [("Content-Length", "0")])])
            }
            return .response(body: Self.body)
        }
        Self.locked(fixture, "Bearer good")
        let slow = try await Self.submit(fixture, "/slow", credential: nil)
        let id = try await Self.submit(fixture, credential: nil)
        try await fixture.withEngine { engine in
            try await Self.asks(fixture, id)
            await fixture.origin.log.arrived(1, at: "/slow")
            let answer = CredentialAnswer.given(
                .bearer,
                Credential.Secrets(main: Secret("good"))
            )
            _ = try await fixture.stores.questions.answerChallenge(
                tenant: fixture.tenant,
                id: id,
                with: answer
            )
            gate.open()
            engine.wake()
            try await fixture.expectCompletion([id, slow])
        }
    }

    @Test func aTaskFailsWhereItsClientDoesNotWantToBeAsked() async throws {
        let fixture = try await EngineFixture()
        Self.locked(fixture, "Bearer good")
        let silent = try await Self.submit(fixture, credential: nil) {
            $0.options.asksForCredential = false
        }
        let refused = try await Self.submit(fixture, credential: nil)
        try await fixture.withEngine { _ in
            #expect(try await fixture.ended(silent).failure?.httpStatus == 401)
            try await Self.asks(fixture, refused)
            _ = try await fixture.stores.questions.refuseChallenge(
                tenant: fixture.tenant,
                id: refused
            )
        }
        let task = try await fixture.task(refused)
        #expect(task.state == .failed)
        #expect(task.failure?.code == .httpStatus)
    }

    /// The longest wait is a day, unless the session or task says that its client is there.
    @Test func aChallengeThatNobodyMayHaveHeardOfEndsInADay() async throws {
        let fixture = try await EngineFixture()
        Self.locked(fixture, "Bearer good")
        let silent = try await Self.submit(fixture, credential: nil)
        let asked = try await Self.submit(fixture, credential: nil) {
            $0.options.asksForCredential = true
        }
        try await fixture.withEngine { _ in
            try await Self.asks(fixture, silent)
            try await Self.asks(fixture, asked)
        }
        func wait(_ id: TaskID) async throws -> TimeInterval {
            try #require(try await fixture.task(id).waitsUntil).timeIntervalSinceNow
        }
        let day: TimeInterval = 24 * 3600
        #expect((day - 600)...day ~= (try await wait(silent)))
        #expect(try await wait(asked) > 6 * day)
    }

    @Test func aProxysChallengeIsAFailureOfItsOwn() async throws {
        let fixture = try await EngineFixture()
        let task = try await fixture.download(.response(407))
        #expect(task.failure?.code == .proxyAuthenticationRequired)
        #expect(task.failure?.httpStatus == 407)
        #expect(task.attempt == 1)
    }

    @Test func aCredentialGoesNowhereButToItsOrigins() async throws {
        let fixture = try await EngineFixture()
        let other = try LoopbackOrigin()
        defer { other.stop() }
        other.when("/file", .response(body: Self.body))
        fixture.origin.when("/away", .redirect(to: other.url("/file")))
        Self.locked(fixture, "Bearer s3cret")
        try await Self.put(
            fixture,
            .bearer,
            "s3cret",
            origins: [Origin(scheme: "https", host: "elsewhere.example", port: 443)]
        )
        try await Self.put(fixture, .header(name: "X-Key"), "s3cret", name: "any")
        let foreign = try await Self.submit(fixture)
        let redirected = try await Self.submit(fixture, "/away", credential: "any")
        try await fixture.withEngine { _ in
            try await Self.asks(fixture, foreign)
            try await fixture.expectCompletion([redirected])
        }
        #expect(fixture.origin.log.now.requests(at: "/file").isEmpty)
        #expect(fixture.origin.log.now.requests(at: "/away").first?["X-Key"] == "s3cret")
        #expect(other.log.now.requests.first?["X-Key"] == nil)
    }

    /// Fields of these names go to another origin unless they show a credential.
    @Test(arguments: ["Accept", "accept-language", "Content-Type", "User-Agent"])
    func aCredentialStaysWhateverItsFieldIsCalled(name: String) async throws {
        let fixture = try await EngineFixture()
        let other = try LoopbackOrigin()
        defer { other.stop() }
        other.when("/file", .response(body: Self.body))
        fixture.origin.when("/away", .redirect(to: other.url("/file")))
        try await Self.put(fixture, .header(name: name), "s3cret")
        let download = try await Self.submit(fixture, "/away")
        let upload = try await Self.submit(fixture, "/away") {
            $0.request = TransferRequest(method: "POST", upload: .data([1]))
            $0.options.sendsBodyToOtherOrigins = true
        }
        try await fixture.withEngine { _ in
            try await fixture.expectCompletion([download, upload])
        }
        let shown = fixture.origin.log.now.requests(at: "/away").map { $0[name] }
        #expect(shown == ["s3cret", "s3cret"])
        let requests = other.log.now.requests
        #expect(requests.count == 2)
        #expect(requests.allSatisfy { $0[name] != "s3cret" })
    }

    @Test func aChallengeFromElsewhereIsNoQuestion() async throws {
        let fixture = try await EngineFixture()
        let other = try LoopbackOrigin()
        defer { other.stop() }
        other.when("/file", .response(401))
        fixture.origin.when("/file", .redirect(to: other.url("/file")))
        let id = try await Self.submit(fixture, credential: nil)
        let task = try await fixture.withEngine { _ in
            try await fixture.ended(id)
        }
        #expect(task.failure?.httpStatus == 401)
    }

    /// It says nothing about the origin, whose attempts are not for this.
    @Test func aLookUpThatFailsCostsNoAttempt() async throws {
        let fixture = try await EngineFixture()
        Self.locked(fixture, "Bearer s3cret")
        try await Self.put(fixture, .bearer, "s3cret")
        let other = try await TestDatabase.current.connection()
        _ = try await other.execute("BEGIN")
        _ = try await other.execute("LOCK TABLE credential IN ACCESS EXCLUSIVE MODE")
        let id = try await Self.submit(fixture)
        let hurried = TestDatabase.current.pool { $0.lockTimeout = .milliseconds(200) }
        let stores = Stores(Database(pool: hurried))
        try await fixture.withEngine(on: stores) { _ in
            try await eventually("the task was given back, again and again") {
                try await fixture.attempts(id).count >= 3
            }
            _ = try await other.execute("ROLLBACK")
            try await fixture.expectCompletion([id])
        }
        await other.close()
        // None of them counts.
        let numbers = try await fixture.attempts(id).map(\.number)
        #expect(numbers.allSatisfy { $0 == 1 })
        #expect(try await fixture.task(id).attempt == 1)
    }

    @Test func aTaskIsStoppedWhileItsCredentialIsLookedUp() async throws {
        let fixture = try await EngineFixture()
        let gate = OriginGate()
        let token = OriginBody.text(#"{"access_token": "a"}"#)
        let length = ("Content-Length", "\(token.count)")
        fixture.origin.when(
            "/token",
            OriginScript([.wait(gate), .head(200, [length]), .body(token)])
        )
        let endpoint = Credential.TokenEndpoint(
            url: fixture.origin.url("/token"),
            clientID: "me",
            sendsSecretInBody: false,
            scope: nil
        )
        try await Self.put(fixture, .oauth2RefreshToken(endpoint), "refresh")
        let id = try await Self.submit(fixture)
        try await fixture.withEngine { engine in
            await fixture.origin.log.arrived(1, at: "/token")
            #expect(try await fixture.task(id).state == .running)
            _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: id)
            engine.wake()
            try await eventually("its slot is free") { engine.runningCount == 0 }
            // The endpoint is still silent: at its time limit it would have failed.
            let credentials = fixture.stores.credentials
            let stored = try await credentials.credential(tenant: fixture.tenant, name: "api")
            #expect(stored?.failure == nil)
            gate.open()
        }
        #expect(try await fixture.task(id).state == .cancelled)
        #expect(fixture.origin.log.now.requests(at: "/file").isEmpty)
    }
}
