import Foundation
import Postgres
import Testing
import TransferModel
import TransferSecrets
import TransferStore
import TransferTestSupport

/// What a credential keeps secret reaches the database sealed, and opens only where it belongs.
@Suite(.postgresSchema) struct CredentialSealingTests {
    private static let secret = "canary-5f1c"
    private static let secrets = Credential.Secrets(
        main: Secret(secret),
        client: Secret("ü\u{0}\"")
    )

    private let fixture: StoreFixture
    private let stores: Stores

    init() async throws {
        fixture = try await StoreFixture()
        let key = try #require(SecretsKey(hex: SecretsKey.random()))
        var settings = StoreFixture.settings
        settings.secrets = SecretBox(keys: [key])
        stores = Stores(Database(pool: TestDatabase.current.pool(), settings: settings))
    }

    private func expectNothingToBeSeen() async throws {
        let rows = try await fixture.aside.execute("SELECT c::text AS text FROM credential c")
        for row in rows {
            let text: String = try row.decode("text")
            #expect(!text.contains(Self.secret))
            // PostgreSQL shows bytes in hexadecimal.
            #expect(!text.contains(Self.secret.utf8.hexadecimal))
        }
    }

    private static let origin = Origin(scheme: "https", host: "origin.test", port: 443)

    private func put(
        _ name: String,
        _ form: Credential.Form,
        _ origins: [Origin]
    ) async throws -> Credential {
        try await stores.credentials.putCredential(
            tenant: fixture.tenant,
            name: name,
            form: form,
            origins: origins,
            secrets: Credential.Secrets(main: Secret("\(Self.secret) before"))
        ).credential
    }

    /// Stores a credential of that name, and what a refresh has brought for it.
    private func refreshed(
        _ name: String,
        _ form: Credential.Form = .bearer,
        for origins: [Origin] = []
    ) async throws -> StoredCredential {
        let credential = try await put(name, form, origins)
        let before = try #require(try await stores.credentials.storedCredential(credential.id))
        #expect(before.secrets.main == Secret("\(Self.secret) before"))
        #expect(before.accessToken == nil)
        let isKept = try await stores.credentials.finishRefresh(
            before,
            accessToken: Secret("\(Self.secret) for \(name)"),
            expiresIn: .seconds(3600),
            secrets: Self.secrets
        )
        #expect(isKept)
        return try #require(try await stores.credentials.storedCredential(credential.id))
    }

    @Test func whatARefreshBringsIsSealed() async throws {
        let stored = try await refreshed("login")
        #expect(stored.secrets == Self.secrets)
        #expect(stored.accessToken == Secret("\(Self.secret) for login"))
        try await expectNothingToBeSeen()
    }

    /// A `PUT` keeps the row, in which another identifier was to be.
    @Test func aReplacedCredentialOpens() async throws {
        _ = try await refreshed("login")
        let stored = try await refreshed("login")
        #expect(stored.secrets == Self.secrets)
        #expect(stored.accessToken == Secret("\(Self.secret) for login"))
    }

    /// Someone who can write to the database cannot have one credential show what is another's.
    @Test func aSecretDoesNotOpenInAnotherRow() async throws {
        _ = try await refreshed("robbed")
        for column in ["secret", "access_token"] {
            let robber = try await refreshed(column).credential.id
            _ = try await fixture.aside.execute(
                """
                UPDATE credential c SET
                    secret = CASE \(column) WHEN 'secret' THEN r.secret ELSE c.secret END,
                    access_token = CASE \(column)
                        WHEN 'access_token' THEN r.access_token ELSE c.access_token END
                FROM credential r WHERE r.name = 'robbed' AND c.id = \(robber.uuid)
                """
            )
            await #expect(throws: StoreError.self, "\(column)") {
                try await stores.credentials.storedCredential(robber)
            }
        }
    }

    /// Nor can someone who has no key have one show what no client has given.
    @Test(arguments: [false, true])
    func aSecretThatIsNotSealedIsNotBelieved(isMarkedAsPlain: Bool) async throws {
        let marker = isMarkedAsPlain ? "\u{0}sealed\u{0}\u{0}" : ""
        let plain = Array("\(marker){\"main\":\"theirs\"}".utf8)
        for column in ["secret", "access_token"] {
            let forged = try await refreshed(column).credential.id
            _ = try await fixture.aside.execute(
                """
                UPDATE credential SET
                    secret = CASE \(column) WHEN 'secret' THEN \(plain) ELSE secret END,
                    access_token = CASE \(column)
                        WHEN 'access_token' THEN \(plain) ELSE access_token END
                WHERE id = \(forged.uuid)
                """
            )
            await #expect(throws: StoreError.self, "\(column)") {
                try await stores.credentials.storedCredential(forged)
            }
        }
    }

    /// Nor have one sent to another origin or endpoint, or shown in another way.
    @Test(
        arguments: [
            "origins = '{}'", "origins = '{https://elsewhere.test:443}'",
            "form = jsonb_set(form, '{token_url}', '\"https://elsewhere.test/token\"')",
            "form = jsonb_set(form, '{client_id}', '\"another\"')",
            "form = jsonb_set(form, '{sends_secret_in_body}', 'true')",
            "form = form - 'scope'", "kind = 'bearer'",
        ] as [Query]
    )
    func aSecretDoesNotOpenForAnotherUse(change: Query) async throws {
        let endpoint = Credential.TokenEndpoint(
            url: "https://origin.test/token?a=1",
            clientID: "me",
            sendsSecretInBody: false,
            scope: "files"
        )
        let stored = try await refreshed("login", .oauth2RefreshToken(endpoint), for: [Self.origin])
        #expect(stored.secrets == Self.secrets)
        #expect(stored.accessToken == Secret("\(Self.secret) for login"))
        let id = stored.credential.id
        _ = try await fixture.aside.execute("UPDATE credential SET \(change)")
        await #expect(throws: StoreError.self) {
            try await stores.credentials.storedCredential(id)
        }
        // Its owner replaces it.
        _ = try await refreshed("login", .oauth2RefreshToken(endpoint), for: [Self.origin])
    }

    @Test(
        arguments: [
            (.basic(username: "me"), "username"), (.header(name: "x-key"), "name"),
            (.clientCertificate(pem: "a"), "certificate"),
        ] as [(Credential.Form, String)]
    )
    func aSecretDoesNotOpenInAnotherForm(form: Credential.Form, member: String) async throws {
        let id = try await put("login", form, [Self.origin]).id
        #expect(try await stores.credentials.storedCredential(id) != nil)
        let changed = try await fixture.aside.execute(
            """
            UPDATE credential SET form = jsonb_set(form, ARRAY[\(member)], '"another"', false)
            WHERE form ? \(member) RETURNING id
            """
        )
        #expect(changed.count == 1)
        await #expect(throws: StoreError.self) {
            try await stores.credentials.storedCredential(id)
        }
    }

    @Test func anAccessTokenDoesNotOpenForOtherOrigins() async throws {
        let id = try await refreshed("login", for: [Self.origin]).credential.id
        _ = try await fixture.aside.execute(
            "CREATE TEMPORARY TABLE kept AS SELECT access_token FROM credential"
        )
        _ = try await put("login", .bearer, [])
        let stored = try await stores.credentials.storedCredential(id)
        #expect(stored?.accessToken == nil)
        _ = try await fixture.aside.execute(
            "UPDATE credential SET access_token = (SELECT access_token FROM kept)"
        )
        await #expect(throws: StoreError.self) {
            try await stores.credentials.storedCredential(id)
        }
    }

    /// It is replaced by a refresh, which needs the secrets alone.
    @Test func anExpiredAccessTokenNeedNotOpen() async throws {
        let id = try await refreshed("login").credential.id
        let damaged = Array("\u{0}sealed\u{0}".utf8)
        _ = try await fixture.aside.execute(
            """
            UPDATE credential SET access_token = \(damaged),
                access_expires_at = now() - interval '1 s'
            """
        )
        let stored = try #require(try await stores.credentials.storedCredential(id))
        #expect(stored.secrets == Self.secrets)
        #expect(stored.accessToken == nil)
    }

    /// Returns a task that waits for a credential for the origin.
    private func askingTask() async throws -> TaskID {
        let id = try await fixture.submit()[0]
        try await fixture.end(
            try await fixture.claim(),
            .askForCredential(StoreFixture.failure, Self.origin, named: nil, within: .seconds(600))
        )
        return id
    }

    @Test func whatAClientAnswersIsSealedAndOpensForItsTasks() async throws {
        let id = try await askingTask()
        _ = try await stores.questions.answerChallenge(
            tenant: fixture.tenant,
            id: id,
            with: .given(.bearer, Self.secrets)
        )
        let claim = try #require(try await fixture.claim().first)
        let query = CredentialQuery(claim: claim, origin: Self.origin)
        let found = try await stores.credentials.credentials(for: [query])
        guard case .readable(let stored)? = found[id] else {
            Issue.record("it does not open")
            return
        }
        #expect(stored.secrets == Self.secrets)
        #expect(stored.credential.origins == [Self.origin])
        try await expectNothingToBeSeen()
        // Nor does it open for others.
        _ = try await fixture.aside.execute("UPDATE credential SET origins = '{}'")
        let moved = try await stores.credentials.credentials(for: [query])
        guard case .unreadable? = moved[id] else {
            Issue.record("it opens for any origin")
            return
        }
    }

    /// As when the task was answered, and refused elsewhere, before the answer is stored.
    @Test func anAnswerIsForTheOriginThatAskedWhenItCame() async throws {
        let id = try await askingTask()
        let holder = try await TestDatabase.current.connection()
        _ = try await holder.execute("BEGIN")
        _ = try await holder.execute("SELECT FROM session_progress FOR UPDATE")
        async let answered = stores.questions.answerChallenge(
            tenant: fixture.tenant,
            id: id,
            with: .given(.bearer, Self.secrets)
        )
        try await fixture.eventuallyWaits(for: holder)
        _ = try await holder.execute("UPDATE asked SET origin = 'https://elsewhere.test:443'")
        _ = try await holder.execute("COMMIT")
        await holder.close()
        guard case .notAsked = try await answered else {
            Issue.record("another origin is answered")
            return
        }
        #expect(try await fixture.count("SELECT count(*) AS count FROM credential") == 0)
        try await fixture.checkInvariants()
    }
}
