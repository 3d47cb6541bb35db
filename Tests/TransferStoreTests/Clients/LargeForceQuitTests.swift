import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// The force-quit and the launch of clients with very many sessions.
@Suite(.postgresSchema, .timeLimit(.minutes(5))) struct LargeForceQuitTests {
    private static let share = ClientID(stored: "share")
    /// More than the quota has room for: sessions made at the same time are not counted by each
    /// other.
    private static let sessions = Quota.sessionsMax + 2

    private func fixture() async throws -> StoreFixture {
        let fixture = try await StoreFixture()
        _ = try await fixture.stores.clients.putClient(
            tenant: fixture.tenant,
            id: Self.share,
            kind: .app
        )
        return fixture
    }

    /// Makes as many sessions of a client, the last of which is the last by name too.
    private func fill(_ fixture: StoreFixture) async throws {
        _ = try await fixture.aside.execute(
            """
            INSERT INTO session (
                id, tenant_id, client, identifier, timeout_for_request_ms, timeout_for_resource_ms,
                additional_headers)
            SELECT gen_random_uuid(), \(fixture.tenant.uuid), \(Self.share.name),
                lpad(n::text, 8, '0'), 60000, 60000, '[]'
            FROM generate_series(1, \(Self.sessions)) AS n
            """
        )
        _ = try await fixture.aside.execute(
            """
            INSERT INTO session_progress (session_id)
            SELECT id FROM session WHERE client = \(Self.share.name)
            """
        )
    }

    private func launch(_ fixture: StoreFixture) async throws {
        let client = try await fixture.stores.clients.launch(tenant: fixture.tenant, id: Self.share)
        #expect(client?.lifecycle == .active)
    }

    @Test func everySessionIsForceQuitAndLaunched() async throws {
        let fixture = try await fixture()
        try await fill(fixture)
        _ = try await fixture.stores.clients.forceQuit(tenant: fixture.tenant, id: Self.share)
        let marked: Query = "SELECT count(*) AS count FROM session_progress WHERE is_force_quit"
        #expect(try await fixture.count(marked) == Self.sessions)
        try await launch(fixture)
        #expect(try await fixture.count(marked) == 0)
    }

    @Test func aLaunchTellsOfTheLastSessionThatWaits() async throws {
        let fixture = try await fixture()
        try await fill(fixture)
        _ = try await fixture.aside.execute(
            """
            INSERT INTO asked (task_id, session_id, tenant_id, question, attempt, until, failure)
            SELECT gen_random_uuid(), id, tenant_id, 'begin', 0, now() + interval '1 hour', '{}'
            FROM session WHERE client = \(Self.share.name)
            ORDER BY identifier COLLATE "C" DESC LIMIT 1
            """
        )
        _ = try await fixture.aside.execute("UPDATE client SET lifecycle = 'suspended'")
        try await launch(fixture)
        let told: Query = """
            SELECT count(*) AS count FROM event WHERE kind = 'session.events_pending'
            """
        #expect(try await fixture.count(told) == 1)
    }

    /// It says so instead of being held until all is done.
    @Test func aLaunchBesideALargeForceQuitDoesAPartOfIt() async throws {
        let fixture = try await fixture()
        // Some more than are cancelled before a force-quit is answered.
        for number in 0..<25 {
            try await fixture.putSession("session-\(number)", of: Self.share)
            try await fixture.submit(1, to: "session-\(number)", of: Self.share)
        }
        _ = try await fixture.stores.clients.forceQuit(tenant: fixture.tenant, id: Self.share)
        var settings = StoreFixture.settings
        settings.launchWaitMax = .zero
        let brief = Stores(Database(pool: TestDatabase.current.pool(), settings: settings))
        var refusals = 0
        while true {
            do {
                _ = try await brief.clients.launch(tenant: fixture.tenant, id: Self.share)
                break
            } catch StoreError.forceQuitInProgress {
                refusals += 1
                try #require(refusals < 25)
            }
        }
        #expect(refusals == 4)
        let client = try await fixture.stores.clients.client(tenant: fixture.tenant, id: Self.share)
        #expect(client?.lifecycle == .active)
        try await fixture.checkInvariants()
    }
}
