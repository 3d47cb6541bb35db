import Foundation
import Postgres
import Testing
import TransferModel
import TransferSecrets
import TransferStore
import TransferTestSupport

/// Rows that change while everything is sealed with a new key.
@Suite(.postgresSchema) struct RewrapTests {
    private let fixture: StoreFixture
    private let oldBox: SecretBox
    private let newBox: SecretBox
    /// Has the old key alone.
    private let before: CredentialStore
    /// Has the new key alone.
    private let after: CredentialStore
    private let store: RewrapStore
    private let keys: SecretsKeyStore
    private static let secrets = Credential.Secrets(main: Secret("refresh"), client: nil)

    init() async throws {
        fixture = try await StoreFixture()
        let old = try #require(SecretsKey(hex: SecretsKey.random()))
        let new = try #require(SecretsKey(hex: SecretsKey.random()))
        oldBox = try #require(SecretBox(keys: [old]))
        newBox = try #require(SecretBox(keys: [new]))
        before = CredentialStore(Self.database([old]))
        after = CredentialStore(Self.database([new]))
        let database = Self.database([new, old])
        store = RewrapStore(database)
        keys = SecretsKeyStore(database)
        let names = [oldBox.sealingKeyName, newBox.sealingKeyName]
        for name in names { _ = try await keys.use(name, among: names) }
        // All instances have stopped.
        _ = try await fixture.aside.execute("UPDATE secrets_key SET used_at = '-infinity'")
        _ = try await before.putCredential(
            tenant: fixture.tenant,
            name: "login",
            form: .oauth2RefreshToken(
                Credential.TokenEndpoint(
                    url: "https://origin.test/token?code=1",
                    clientID: "me",
                    sendsSecretInBody: false,
                    scope: nil
                )
            ),
            origins: [],
            secrets: Self.secrets
        )
    }

    private static func database(_ keys: [SecretsKey]) -> Database {
        var settings = StoreSettings()
        settings.secrets = SecretBox(keys: keys)
        return Database(pool: TestDatabase.current.pool(), settings: settings)
    }

    /// Returns an access token as it is stored with the old key, and removes it.
    private func sealedToken(_ text: String) async throws -> [UInt8] {
        let login = try await before.credential(tenant: fixture.tenant, name: "login")
        let id = try #require(login).id
        let isKept = try await before.finishRefresh(
            try #require(try await before.storedCredential(id)),
            accessToken: Secret(text),
            expiresIn: nil,
            secrets: nil
        )
        #expect(isKept)
        let rows = try await fixture.aside.execute("SELECT access_token FROM credential")
        _ = try await fixture.aside.execute("UPDATE credential SET access_token = NULL")
        return try #require(rows.first).decode("access_token")
    }

    /// As when a worker gets a new access token between the look at the row and its update.
    @Test func aRowThatChangesMeanwhileIsSealedWithTheNewKeyToo() async throws {
        let tenant = fixture.tenant
        let token = try await sealedToken("access")
        _ = try await fixture.aside.execute("BEGIN")
        _ = try await fixture.aside.execute("UPDATE credential SET access_token = \(token)")
        async let rewrapping = store.rewrap(pagesOf: 10)
        try await fixture.eventuallyWaits(for: fixture.aside)
        _ = try await fixture.aside.execute("COMMIT")
        let outcome = try await rewrapping

        #expect(outcome.renewed[.credentials] == 1)
        #expect(outcome.old == 0)
        let login = try #require(try await after.credential(tenant: tenant, name: "login"))
        let stored = try #require(try await after.storedCredential(login.id))
        #expect(stored.secrets == Self.secrets)
        #expect(stored.accessToken == Secret("access"))
        #expect(try await keys.use(nil, among: [newBox.sealingKeyName]) == [])
        let again = try await store.rewrap(pagesOf: 10)
        #expect(again.renewed[.credentials] == 0)
    }

    /// What it seals afterwards would be lost with its key.
    @Test func nothingIsSealedBesideAnInstanceWithAnotherKey() async throws {
        try await keys.renewUse(of: oldBox.sealingKeyName)
        let early = try await store.rewrap(pagesOf: 10)
        #expect(early.isOtherInUse && early.renewed.isEmpty)
        _ = try await fixture.aside.execute(
            "UPDATE secrets_key SET used_at = now() - interval '1 minute'"
        )
        let outcome = try await store.rewrap(pagesOf: 10)
        #expect(!outcome.isOtherInUse && outcome.renewed[.credentials] == 1)
        // Whoever lacks the new key does not start.
        #expect(try await keys.use(nil, among: []) == [newBox.sealingKeyName])
    }

    /// Also when the older key cannot be forgotten, because a row does not open.
    @Test func theNewKeyIsKnownWhateverBecomesOfTheRest() async throws {
        _ = try await fixture.aside.execute(
            "DELETE FROM secrets_key WHERE name = \(newBox.sealingKeyName)"
        )
        _ = try await fixture.aside.execute(
            "UPDATE credential SET origins = '{https://elsewhere.test:443}'"
        )
        let outcome = try await store.rewrap(pagesOf: 10)
        #expect(outcome.unreadable == 1)
        #expect(try await keys.use(nil, among: [oldBox.sealingKeyName]) == [newBox.sealingKeyName])
    }

    /// Once sealed, it would be believed.
    @Test(arguments: ["secret", "access_token"])
    func whatACredentialHoldsUnsealedIsNotSealed(column: String) async throws {
        let plain = Array(#"{"main":"theirs"}"#.utf8)
        _ = try await fixture.aside.execute(
            """
            UPDATE credential SET
                secret = CASE \(column) WHEN 'secret' THEN \(plain) ELSE secret END,
                access_token = CASE \(column) WHEN 'access_token' THEN \(plain) END
            """
        )
        let outcome = try await store.rewrap(pagesOf: 10)
        #expect(outcome.renewed[.credentials] == 0)
        #expect(outcome.unreadable == 1)
        #expect(try await keys.use(nil, among: [newBox.sealingKeyName]) == [oldBox.sealingKeyName])
    }

    /// Otherwise it would be sealed for what somebody without the key has made of it.
    @Test func aCredentialWithOtherOriginsIsNotSealed() async throws {
        _ = try await fixture.aside.execute(
            "UPDATE credential SET origins = '{https://elsewhere.test:443}'"
        )
        let outcome = try await store.rewrap(pagesOf: 10)
        #expect(outcome.renewed[.credentials] == 0)
        #expect(outcome.unreadable == 1)
        #expect(try await keys.use(nil, among: [newBox.sealingKeyName]) == [oldBox.sealingKeyName])
    }

    @Test func anOlderKeyThatIsStillNeededIsNotForgotten() async throws {
        _ = try await fixture.aside.execute(
            """
            CREATE FUNCTION change_nothing() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN RETURN NULL; END $$
            """
        )
        _ = try await fixture.aside.execute(
            """
            CREATE TRIGGER change_nothing BEFORE UPDATE ON credential
            FOR EACH ROW EXECUTE FUNCTION change_nothing()
            """
        )
        let outcome = try await store.rewrap(pagesOf: 10)
        #expect(outcome.renewed[.credentials] == 0)
        #expect(outcome.old == 1)
        #expect(outcome.unreadable == 0)
        #expect(try await keys.use(nil, among: [newBox.sealingKeyName]) == [oldBox.sealingKeyName])
    }
}
