import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// Whose turn it is to refresh a credential.
@Suite(.postgresSchema) struct RefreshTests {
    private let fixture: StoreFixture
    private let credentials: CredentialStore
    private let stored: StoredCredential

    init() async throws {
        fixture = try await StoreFixture()
        credentials = fixture.stores.credentials
        let credential = try await credentials.putCredential(
            tenant: fixture.tenant,
            name: "login",
            form: .bearer,
            origins: [],
            secrets: Credential.Secrets(main: Secret("s"))
        ).credential
        stored = try #require(try await credentials.storedCredential(credential.id))
    }

    /// Begins two turns, the second when the first is over.
    private func turns() async throws -> (first: RefreshTurn, second: RefreshTurn) {
        let first = try #require(try await credentials.beginRefresh(stored))
        #expect(try await credentials.beginRefresh(stored) == nil)
        _ = try await fixture.aside.execute(
            "UPDATE credential SET refreshing_until = clock_timestamp() - interval '1 s'"
        )
        let second = try #require(try await credentials.beginRefresh(stored))
        return (first, second)
    }

    private func failure() async throws -> String? {
        try await credentials.storedCredential(stored.credential.id)?.credential.failure
    }

    @Test func aTurnThatFailsIsFollowedByAnother() async throws {
        let turn = try #require(try await credentials.beginRefresh(stored))
        #expect(try await credentials.failRefresh(turn, because: "refused"))
        #expect(try await failure() == "refused")
        #expect(try await credentials.beginRefresh(stored) != nil)
    }

    @Test func whoeverFailsTooLateEndsNoOthersTurn() async throws {
        let (first, second) = try await turns()
        #expect(try await !credentials.failRefresh(first, because: "late"))
        #expect(try await failure() == nil)
        #expect(try await credentials.beginRefresh(stored) == nil)
        #expect(try await credentials.failRefresh(second, because: "refused"))
        #expect(try await failure() == "refused")
    }

    /// Gives the credential an access token.
    private func grant(for time: Duration?) async throws {
        let isKept = try await credentials.finishRefresh(
            stored,
            accessToken: Secret("a"),
            expiresIn: time,
            secrets: nil
        )
        #expect(isKept)
    }

    /// The clock of this process is an hour behind.
    @Test(arguments: [(5400, true), (1800, false)])
    func anAccessTokenEndsByTheClockOfTheDatabase(seconds: Int, isValid: Bool) async throws {
        try await grant(for: .seconds(seconds))
        let pool = try await TestDatabase.current.poolAnHourAhead()
        let ahead = CredentialStore(Database(pool: pool, settings: StoreFixture.settings))
        let now = try #require(try await ahead.storedCredential(stored.credential.id))
        #expect((now.accessToken == Secret("a")) == isValid)
        let remaining = ContinuousClock.now.duration(to: try #require(now.accessEnds))
        let expected: Duration = .seconds(seconds - 3600)
        #expect((expected - .seconds(600)...expected).contains(remaining))
    }

    /// No clock makes it valid once more.
    @Test func aTokenThatWasRefusedIsGone() async throws {
        try await grant(for: nil)
        try await credentials.expireAccessToken(
            of: ShownCredential(
                id: stored.credential.id,
                version: stored.version + 1,
                isRenewable: true
            )
        )
        _ = try await fixture.aside.execute(
            "UPDATE credential SET access_expires_at = now() + interval '1 hour'"
        )
        let now = try #require(try await credentials.storedCredential(stored.credential.id))
        #expect(now.version == stored.version + 2)
        #expect(now.accessToken == nil)
    }

    /// The endpoint may have taken the refresh token for the only time.
    @Test func aTokenThatComesTooLateIsKept() async throws {
        let (first, second) = try await turns()
        let isKept = try await credentials.finishRefresh(
            first.stored,
            accessToken: Secret("a"),
            expiresIn: nil,
            secrets: Credential.Secrets(main: Secret("next"))
        )
        #expect(isKept)
        #expect(try await !credentials.failRefresh(second, because: "used before"))
        let now = try #require(try await credentials.storedCredential(stored.credential.id))
        #expect(now.accessToken == Secret("a"))
        #expect(now.secrets.main == Secret("next"))
        #expect(now.credential.failure == nil)
    }
}
