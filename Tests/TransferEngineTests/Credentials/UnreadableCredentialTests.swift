import Foundation
import Testing
import TransferEngine
import TransferModel
import TransferSecrets
import TransferStore
import TransferTestSupport

/// Credentials and tasks that were sealed with a key that this service lacks.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct UnreadableCredentialTests {
    private static func box() throws -> SecretBox {
        try #require(SecretsKey(hex: SecretsKey.random()).flatMap { SecretBox(keys: [$0]) })
    }

    private static func stores(_ box: SecretBox) -> Stores {
        var settings = StoreSettings()
        settings.secrets = box
        return Stores(Database(pool: TestDatabase.current.pool(), settings: settings))
    }

    /// The query of its token endpoint is sealed, too, so that lists cannot read it either.
    private static let endpoint = Credential.Form.oauth2RefreshToken(
        Credential.TokenEndpoint(
            url: "https://login.test/token?realm=files",
            clientID: "me",
            sendsSecretInBody: false,
            scope: nil
        )
    )

    private static func put(
        _ name: String,
        _ form: Credential.Form,
        _ box: SecretBox,
        _ fixture: EngineFixture
    ) async throws {
        _ = try await stores(box).credentials.putCredential(
            tenant: fixture.tenant,
            name: name,
            form: form,
            origins: [],
            secrets: Credential.Secrets(main: Secret("s3cret"))
        )
    }

    /// Neither the others of its batch nor its own task lose an attempt.
    @Test func whatDoesNotOpenHoldsUpNothingElse() async throws {
        let fixture = try await EngineFixture()
        let (ours, theirs) = (try Self.box(), try Self.box())
        fixture.origin.when("/file", .response(body: .text("whole")))
        try await Self.put("row", Self.endpoint, theirs, fixture)
        try await Self.put("secret", .bearer, theirs, fixture)
        try await Self.put("good", .bearer, ours, fixture)
        var ids: [TaskID] = []
        for name in ["row", "secret", "good"] {
            ids.append(
                try await fixture.submit(fixture.origin.url("/file")) {
                    $0.options.credential = name
                }
            )
        }
        let all = ids
        try await fixture.withEngine(on: Self.stores(ours)) {
            // None of the others tries again meanwhile.
            $0.retryPolicy.delayBase = .seconds(600)
            $0.retryPolicy.delayMax = .seconds(600)
        } _: { _ in
            try await fixture.expectCompletion([all[2]])
            try await eventually("the others wait") {
                for id in all.prefix(2)
                where try await fixture.task(id).state != .waitingForRetry {
                    return false
                }
                return true
            }
        }
        #expect(try await fixture.task(all[2]).attempt == 1)
        let key = theirs.sealingKeyName.hexadecimal
        for id in all.prefix(2) {
            let task = try await fixture.task(id)
            #expect(task.attempt == 0)
            #expect(task.failure?.code == .credentialUnusable)
            #expect(task.failure?.message.contains("SHA-256 starts with \(key)") == true)
        }
    }

    /// Another instance may have the key, and a task has few attempts.
    @Test func aTaskThatDoesNotOpenLosesNoAttempt() async throws {
        let fixture = try await EngineFixture()
        let (ours, theirs) = (try Self.box(), try Self.box())
        let id = try await fixture.submit(fixture.origin.url("/file")) {
            $0.headers = [HTTPHeader(name: "X-Key", value: "s3cret")]
        }
        let sealing = RewrapStore(Self.stores(theirs).database)
        #expect(try await sealing.rewrap(pagesOf: 10).renewed[.tasks] == 1)
        let tasks = Self.stores(theirs).tasks
        let tenant = fixture.tenant
        try await fixture.withEngine(on: Self.stores(ours)) {
            // It does not try again meanwhile.
            $0.retryPolicy.delayBase = .seconds(600)
            $0.retryPolicy.delayMax = .seconds(600)
        } _: { _ in
            try await eventually("it waits") {
                try await tasks.task(tenant: tenant, id: id)?.state == .waitingForRetry
            }
        }
        let task = try #require(try await tasks.task(tenant: tenant, id: id))
        #expect(task.attempt == 0)
        #expect(task.failure?.message == "This service cannot open the request.")
    }

    @Test func aPageNamesWhatDoesNotOpen() async throws {
        let fixture = try await EngineFixture()
        let (ours, theirs) = (try Self.box(), try Self.box())
        for (name, box) in [("a", ours), ("b", theirs), ("c", ours)] {
            try await Self.put(name, Self.endpoint, box, fixture)
        }
        let credentials = Self.stores(ours).credentials
        let page = try await credentials.credentials(tenant: fixture.tenant, after: nil, limit: 2)
        #expect(page.map(\.name) == ["a"])
        #expect(page.unreadable == ["b"])
        #expect(page.hasMore)
        let rest = try await credentials.credentials(
            tenant: fixture.tenant,
            after: page.lastPlace,
            limit: 2
        )
        #expect(rest.map(\.name) == ["c"])
        #expect(!rest.hasMore)
        // Its owner replaces it.
        try await Self.put("b", Self.endpoint, ours, fixture)
        let whole = try await credentials.credentials(tenant: fixture.tenant, after: nil, limit: 3)
        #expect(whole.map(\.name) == ["a", "b", "c"])
        #expect(whole.unreadable.isEmpty)
    }
}
