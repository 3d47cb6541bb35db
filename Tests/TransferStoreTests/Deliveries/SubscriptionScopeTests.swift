import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// The subscriptions that get an event, and the cost of finding them.
@Suite(.postgresSchema) struct SubscriptionScopeTests {
    @Test func anEventIsForItsTenantItsClientAndItsSessionAlone() async throws {
        let fixture = try await StoreFixture()
        try await fixture.putSession("other")
        let wanted = [
            try await fixture.subscribe(),
            try await fixture.subscribe(client: .default),
            try await fixture.subscribe(client: .default, session: StoreFixture.identifier),
        ]
        try await fixture.subscribe(client: .default, session: "other")
        let deleted = try await fixture.subscribe()
        _ = try await fixture.stores.subscriptions.deleteSubscription(
            tenant: fixture.tenant,
            id: deleted
        )
        try await fixture.submit()
        let claims = try await fixture.claimDeliveries()
        #expect(Set(claims.map(\.subscription)) == Set(wanted))
    }

    @Test func subscriptionsOfOtherSessionsAreNotLookedAt() async throws {
        let fixture = try await StoreFixture()
        try await fixture.subscribe(client: .default, session: StoreFixture.identifier)
        _ = try await fixture.aside.execute(
            """
            INSERT INTO subscription (id, tenant_id, client, session_identifier, url)
            SELECT gen_random_uuid(), \(fixture.tenant.uuid), 'default', 'other' || n, 'https://x.test'
            FROM generate_series(1, 2000) n
            """
        )
        let pool = TestDatabase.current.pool(connectionsMax: 1)
        // As the service sets it; in one transaction, because the server counts the reads of one.
        _ = try await pool.execute([
            "SELECT set_config('enable_seqscan', 'off', false)",
            "SELECT set_config('plan_cache_mode', 'force_generic_plan', false)",
        ])
        _ = try await pool.execute("BEGIN")
        let result = try await Stores(Database(pool: pool)).submissions.submit(
            StoreFixture.submissions(1),
            tenant: fixture.tenant,
            sessionIdentifier: StoreFixture.identifier
        )
        guard case .accepted = result else {
            Issue.record("not accepted: \(result)")
            return
        }
        let rows = try await pool.execute(
            """
            SELECT sum(pg_stat_get_xact_tuples_returned(indexrelid))::bigint AS count
            FROM pg_index WHERE indrelid = 'subscription'::regclass
            """
        )
        _ = try await pool.execute("COMMIT")
        #expect(try rows[0].decode("count", as: Int64.self) == 1)
        #expect(try await fixture.claimDeliveries().count == 1)
    }

    /// The statement that writes the events began before the subscription was made, and waited.
    @Test func aSubscriptionGetsEveryEventAfterIt() async throws {
        let fixture = try await StoreFixture(connectionsMax: 4)
        let id = try await fixture.submit()[0]
        let claims = try await fixture.claim()
        let holder = try await TestDatabase.current.connection()
        _ = try await holder.execute("BEGIN")
        _ = try await holder.execute("SELECT 1 FROM session_progress FOR UPDATE")
        async let ended = fixture.fetch(claims)
        try await fixture.eventuallyWaits(for: holder)
        let wanted = [
            try await fixture.subscribe(),
            try await fixture.subscribe(client: .default, session: StoreFixture.identifier),
        ]
        _ = try await holder.execute("COMMIT")
        await holder.close()
        #expect(try await ended == [id])
        let deliveries = try await fixture.claimDeliveries()
        #expect(Set(deliveries.map(\.subscription)) == Set(wanted))
        // Behind the creation of the task.
        #expect(deliveries.map(\.acknowledgedSequence) == [1, 1])
        try await fixture.checkInvariants()
    }

    @Test func aSubscriptionGetsEveryEventOfAClientAfterIt() async throws {
        let fixture = try await StoreFixture(connectionsMax: 4)
        let clients = fixture.stores.clients
        _ = try await clients.suspend(tenant: fixture.tenant, id: .default)
        let log = try #require(
            try await clients.client(tenant: fixture.tenant, id: .default)?.log
        )
        let holder = try await TestDatabase.current.connection()
        _ = try await holder.execute("BEGIN")
        _ = try await holder.execute(
            "SELECT 1 FROM session_progress WHERE session_id = \(log.uuid) FOR UPDATE"
        )
        async let terminated = clients.terminate(tenant: fixture.tenant, id: .default)
        try await fixture.eventuallyWaits(for: holder)
        let subscription = try await fixture.subscribe(client: .default)
        _ = try await holder.execute("COMMIT")
        await holder.close()
        #expect(try await terminated?.lifecycle == .terminated)
        let deliveries = try await fixture.claimDeliveries()
        #expect(deliveries.map(\.subscription) == [subscription])
        #expect(deliveries.map(\.session) == [log])
        #expect(deliveries.map(\.acknowledgedSequence) == [1])
    }
}
