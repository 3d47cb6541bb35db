import Curl
import Foundation
import Postgres
import Synchronization
import Testing
import TransferEngine
import TransferModel
import TransferStore
import TransferTestSupport

/// Access tokens that the service obtains with a refresh token.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct EngineTokenTests {
    private static let body = OriginBody.random(seed: 72, size: 5000)

    /// An authorization server and a file behind it, as one origin.
    private final class TokenServer: Sendable {
        private struct State {
            var issued = 0
            var valid: Set<String> = []
            var refreshToken = "refresh-0"
        }

        private let state = Mutex(State())

        /// Starts the server; each refresh token is valid for one use, and access tokens last
        /// `seconds`.
        init(_ origin: LoopbackOrigin, seconds: String = "3600") {
            origin.when("/token") { [self] request in
                let form = String(decoding: request.body, as: UTF8.self)
                return state.withLock { state in
                    guard form.contains("refresh_token=\(state.refreshToken)"),
                        form.contains("grant_type=refresh_token")
                    else { return Self.json(400, #"{"error": "invalid_grant"}"#) }
                    state.issued += 1
                    state.refreshToken = "refresh-\(state.issued)"
                    state.valid.insert("Bearer access-\(state.issued)")
                    return Self.json(
                        200,
                        """
                        {"access_token": "access-\(state.issued)", "token_type": "Bearer",
                         "expires_in": \(seconds), "refresh_token": "\(state.refreshToken)"}
                        """
                    )
                }
            }
            origin.when("/file") { [self] request in
                let isGood = state.withLock { state in
                    state.valid.contains(request["Authorization"] ?? "")
                }
                return isGood ? .response(body: body) : .response(401)
            }
        }

        /// The number of access tokens issued.
        var issued: Int { state.withLock { $0.issued } }

        /// Invalidates all current access tokens.
        func revoke() { state.withLock { $0.valid = [] } }

        private static func json(_ status: Int, _ text: String) -> OriginScript {
            .response(
                status,
                headers: [("Content-Type", "application/json")],
                body: .text(text)
            )
        }
    }

    private static func put(
        _ fixture: EngineFixture,
        refreshToken: String = "refresh-0",
        clientSecret: String? = nil,
        inBody: Bool = false,
        at url: String? = nil
    ) async throws {
        let endpoint = Credential.TokenEndpoint(
            url: url ?? fixture.origin.url("/token"),
            clientID: "client id",
            sendsSecretInBody: inBody,
            scope: "read write"
        )
        let secrets = Credential.Secrets(
            main: Secret(refreshToken),
            client: clientSecret.map { Secret($0) }
        )
        _ = try await fixture.stores.credentials.putCredential(
            tenant: fixture.tenant,
            name: "oauth",
            form: .oauth2RefreshToken(endpoint),
            origins: [],
            secrets: secrets
        )
    }

    private static func submit(_ fixture: EngineFixture) async throws -> TaskID {
        try await fixture.submit(fixture.origin.url("/file")) { $0.options.credential = "oauth" }
    }

    @Test func manyTasksOfTwoInstancesCauseOneRefresh() async throws {
        let fixture = try await EngineFixture()
        let server = TokenServer(fixture.origin)
        try await Self.put(fixture)
        var submitted: [TaskID] = []
        for _ in 0..<20 { submitted.append(try await Self.submit(fixture)) }
        let ids = submitted
        try await fixture.withEngine { _ in
            try await fixture.withEngine { _ in
                try await eventually("all tasks are done") {
                    for id in ids where try await fixture.task(id).state != .completed {
                        return false
                    }
                    return true
                }
            }
        }
        #expect(server.issued == 1)
        #expect(fixture.origin.log.now.requests(at: "/token").count == 1)
    }

    /// Also where the clock of the worker is an hour behind that of the database.
    @Test(arguments: [false, true])
    func aRefreshedTokenIsKeptAndTheNextRefreshUsesTheNewOne(isBehind: Bool) async throws {
        let fixture = try await EngineFixture()
        let server = TokenServer(fixture.origin)
        try await Self.put(fixture)
        let ahead =
            try await isBehind
            ? Stores(Database(pool: TestDatabase.current.poolAnHourAhead())) : nil
        try await fixture.withEngine(on: ahead) { engine in
            for revoked in [false, false, true] {
                if revoked { server.revoke() }
                let id = try await Self.submit(fixture)
                engine.wake()
                try await fixture.expectCompletion([id])
                #expect(try await fixture.task(id).attempt == (revoked ? 2 : 1))
            }
        }
        #expect(server.issued == 2)
        let credential = try await fixture.stores.credentials.credential(
            tenant: fixture.tenant,
            name: "oauth"
        )
        let expiry = try #require(credential?.accessExpiresAt)
        #expect(expiry > Date().addingTimeInterval(3000))
    }

    @Test(arguments: ["30", "\"30\""])
    func aTokenThatIsAboutToEndIsNotShown(seconds: String) async throws {
        let fixture = try await EngineFixture()
        let server = TokenServer(fixture.origin, seconds: seconds)
        try await Self.put(fixture)
        try await fixture.withEngine { engine in
            for _ in 0..<2 {
                let id = try await Self.submit(fixture)
                engine.wake()
                try await fixture.expectCompletion([id])
            }
        }
        #expect(server.issued == 2)
    }

    /// It may be used up although no answer has come.
    @Test func aKeptConnectionIsNoReasonToSendARefreshTokenTwice() async throws {
        let fixture = try await EngineFixture()
        _ = TokenServer(fixture.origin, seconds: "30")
        try await Self.put(fixture)
        let first = try await Self.submit(fixture)
        try await fixture.withEngine {
            $0.retryPolicy.attemptsMax = 1
        } _: { engine in
            try await fixture.expectCompletion([first])
            fixture.origin.when("/token", OriginScript([.close]))
            let id = try await Self.submit(fixture)
            engine.wake()
            let task = try await fixture.ended(id)
            #expect(task.state == .failed)
        }
        #expect(fixture.origin.log.now.requests(at: "/token").count == 2)
    }

    @Test func aRefusedRefreshTokenIsAQuestion() async throws {
        let fixture = try await EngineFixture()
        _ = TokenServer(fixture.origin)
        try await Self.put(fixture, refreshToken: "used up")
        let id = try await Self.submit(fixture)
        try await fixture.withEngine { engine in
            try await eventually("the task asks") {
                try await fixture.task(id).state == .waitingForAuthentication
            }
            let task = try await fixture.task(id)
            #expect(task.failure?.code == .credentialUnusable)
            #expect(task.failure?.message.contains("invalid_grant") == true)
            let credential = try await fixture.stores.credentials.credential(
                tenant: fixture.tenant,
                name: "oauth"
            )
            #expect(credential?.failure?.contains("invalid_grant") == true)
            try await Self.put(fixture)
            engine.wake()
            try await fixture.expectCompletion([id])
        }
        #expect(fixture.origin.log.now.requests(at: "/file").count == 1)
    }

    @Test func aTokenThatIsRefusedAtOnceIsAQuestionAndNoLoop() async throws {
        let fixture = try await EngineFixture()
        let server = TokenServer(fixture.origin)
        fixture.origin.when("/file", .response(401))
        try await Self.put(fixture)
        let id = try await Self.submit(fixture)
        try await fixture.withEngine { _ in
            try await eventually("the task asks") {
                try await fixture.task(id).state == .waitingForAuthentication
            }
        }
        #expect(server.issued == 1)
    }

    @Test func anEndpointThatFailsIsTriedAgain() async throws {
        let fixture = try await EngineFixture()
        let server = TokenServer(fixture.origin)
        let tries = Mutex(0)
        fixture.origin.when("/flaky") { _ in
            tries.withLock { $0 += 1 }
            return .response(503)
        }
        try await fixture.putRefreshToken("refresh-0", at: fixture.origin.url("/flaky"))
        let id = try await Self.submit(fixture)
        let task = try await fixture.withEngine { _ in
            try await fixture.ended(id)
        }
        // The engine of the tests gives up after three attempts.
        #expect(task.state == .failed)
        #expect(tries.withLock { $0 } == 3)
        #expect(server.issued == 0)
    }

    /// The rules stay as they are, so that another attempt is of no use.
    @Test func anEndpointThatMayNotBeReachedEndsTheTask() async throws {
        let fixture = try await EngineFixture()
        try await Self.put(fixture, at: "http://login.test/token")
        let id = try await Self.submit(fixture)
        let task = try await fixture.withEngine {
            $0.egress = EgressGuard(
                allowsHost: { host, _ in host != "login.test" },
                allows: { _, _ in true }
            )
        } _: { _ in
            try await fixture.ended(id)
        }
        #expect(task.failure?.code == .egressDenied)
        #expect(task.failure?.message.contains("token endpoint") == true)
        #expect(task.attempt == 1)
        #expect(fixture.origin.log.now.requests.isEmpty)
    }

    /// It is the operator who mends it, and not the one who runs the endpoint.
    @Test func aProxyThatIsAwayIsNoFaultOfTheEndpoint() async throws {
        let fixture = try await EngineFixture()
        let held = try HeldPort()
        defer { withExtendedLifetime(held) {} }
        try await Self.put(fixture)
        let id = try await Self.submit(fixture)
        let proxy = try CurlProxy(url: "http://127.0.0.1:\(held.number)")
        let task = try await fixture.withEngine {
            $0.egress = EgressGuard(
                allowsHost: { _, _ in true },
                allows: { _, _ in true },
                proxy: { _ in proxy }
            )
        } _: { _ in
            try await fixture.ended(id)
        }
        #expect(task.failure?.code == .proxyUnreachable)
        #expect(task.attempt == 3)
    }

    /// Another worker may have the task by then.
    @Test func aWorkerThatIsNotTrustedGivesItsTaskBack() async throws {
        let fixture = try await EngineFixture()
        let server = TokenServer(fixture.origin)
        try await Self.put(fixture)
        let credentials = fixture.stores.credentials
        let named = try #require(
            try await credentials.credential(tenant: fixture.tenant, name: "oauth")
        )
        let stored = try #require(try await credentials.storedCredential(named.id))
        let earlier = try #require(try await credentials.beginRefresh(stored))
        try await credentials.failRefresh(earlier, because: "earlier")
        // The worker waits for the one that seems to ask.
        let turn = try #require(try await credentials.beginRefresh(stored))
        let id = try await Self.submit(fixture)
        let identity = Mutex<WorkerIdentity?>(nil)
        try await fixture.withEngine {
            // One heartbeat, and no other.
            $0.heartbeatInterval = .seconds(3600)
        } prepare: { worker in
            identity.withLock { $0 = worker }
        } _: { engine in
            try await eventually("the task is claimed") {
                try await fixture.task(id).state == .running
            }
            let worker = try #require(identity.withLock { $0 })
            // Its answer sets how long the worker is trusted; until then that is forever.
            try await eventually("the heartbeat was answered") {
                !worker.isTrusted(at: .now + .seconds(3600))
            }
            worker.trust(until: .now)
            try await credentials.failRefresh(turn, because: nil)
            try await eventually("the task is back in the queue") {
                try await fixture.task(id).state == .queued
            }
            #expect(try await fixture.task(id).attempt == 0)
            #expect(server.issued == 0)
            let credential = try await credentials.credential(
                tenant: fixture.tenant,
                name: "oauth"
            )
            #expect(credential?.failure == "earlier")
            worker.trust(until: .now + .seconds(3600))
            engine.wake()
            try await fixture.expectCompletion([id])
        }
        #expect(try await fixture.task(id).attempt == 1)
        #expect(server.issued == 1)
    }

    @Test func anOldTokenThatIsRefusedMeanwhileLosesNoNewOne() async throws {
        let fixture = try await EngineFixture()
        try await Self.put(fixture)
        let credentials = fixture.stores.credentials
        let named = try #require(
            try await credentials.credential(tenant: fixture.tenant, name: "oauth")
        )
        let stored = try #require(try await credentials.storedCredential(named.id))
        #expect(try await credentials.beginRefresh(stored) != nil)
        let shown = ShownCredential(
            id: named.id,
            version: stored.version,
            isRenewable: true,
            field: "authorization"
        )
        try await credentials.expireAccessToken(of: shown)
        let isKept = try await credentials.finishRefresh(
            stored,
            accessToken: Secret("a"),
            expiresIn: nil,
            secrets: nil
        )
        #expect(isKept)
    }

    /// Nobody was asked, so that it says nothing about the endpoint.
    @Test func aDatabaseThatIsLateCostsNoAttempt() async throws {
        let fixture = try await EngineFixture()
        let server = TokenServer(fixture.origin)
        try await Self.put(fixture)
        let other = try await TestDatabase.current.connection()
        _ = try await other.execute("BEGIN")
        _ = try await other.execute("SELECT FROM credential FOR UPDATE")
        let id = try await Self.submit(fixture)
        let hurried = TestDatabase.current.pool { $0.lockTimeout = .seconds(1) }
        let stores = Stores(Database(pool: hurried))
        try await fixture.withEngine(on: stores) { _ in
            try await eventually("the task was given back") {
                try await fixture.attempts(id).contains { $0.outcome == .released }
            }
            _ = try await other.execute("ROLLBACK")
            try await fixture.expectCompletion([id])
        }
        await other.close()
        #expect(try await fixture.task(id).attempt == 1)
        #expect(server.issued == 1)
    }

    @Test(arguments: [false, true])
    func theClientIsShownAsItsEndpointWants(inBody: Bool) async throws {
        let fixture = try await EngineFixture()
        _ = TokenServer(fixture.origin)
        try await Self.put(fixture, clientSecret: "a+b", inBody: inBody)
        let id = try await Self.submit(fixture)
        try await fixture.withEngine { _ in
            try await fixture.expectCompletion([id])
        }
        let request = try #require(fixture.origin.log.now.requests(at: "/token").first)
        let form = String(decoding: request.body, as: UTF8.self)
        #expect(form.contains("scope=read%20write"))
        #expect(form.contains("client_secret=a%2Bb") == inBody)
        #expect(form.contains("client_id=client%20id") == inBody)
        // "client%20id:a%2Bb" in base64.
        let expected = "Basic " + Data("client%20id:a%2Bb".utf8).base64EncodedString()
        #expect(request["Authorization"] == (inBody ? nil : expected))
    }
}
