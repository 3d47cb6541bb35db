import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// What the erasure of sessions costs, and whom it holds up.
@Suite(.postgresSchema) struct ErasureCostTests {
    private func invalidate(_ fixture: StoreFixture, _ identifier: String) async throws {
        let isEnded = try await fixture.stores.sessions.invalidateSession(
            tenant: fixture.tenant,
            identifier: identifier
        )
        #expect(isEnded)
    }

    /// A tenant may have had any number of them, and have any number to other sessions.
    @Test func subscriptionsThatAreNotToldCostAnErasureNothing() async throws {
        let fixture = try await StoreFixture()
        let meter = PageMeter()
        try await meter.holdStatistics()
        try await fixture.subscribe()
        for number in 0..<10 {
            try await fixture.putSession("brief-\(number)", kind: .ephemeral)
            try await invalidate(fixture, "brief-\(number)")
        }
        _ = try await fixture.aside.execute("UPDATE delivery SET due_at = NULL")
        func pages() async throws -> Int64 {
            try await meter.pages { stores in
                let tasks = try await stores.erasure.tasksToErase()
                #expect(tasks.isEmpty)
                let erased = try await stores.erasure.erase([])
                #expect(erased.sessions == 10)
            }
        }
        // Plans are made now, and kept.
        let before = try await pages()
        _ = try await fixture.aside.execute([
            """
            INSERT INTO subscription (
                id, tenant_id, client, session_identifier, url, deleted_at)
            SELECT gen_random_uuid(), \(fixture.tenant.uuid),
                CASE WHEN n % 2 = 0 THEN 'default' END, CASE WHEN n % 2 = 0 THEN 'other-' || n END,
                'https://hook.test/', CASE WHEN n % 2 = 1 THEN now() END
            FROM generate_series(1, 4000) AS n
            """,
            """
            INSERT INTO delivery (subscription_id, session_id, acknowledged_sequence)
            SELECT b.id, s.id, 1 FROM subscription b CROSS JOIN session s
            WHERE b.deleted_at IS NOT NULL AND s.kind = 'ephemeral'
            """,
        ])
        let after = try await pages()
        // Each look-up reads a page more where an index has become higher.
        #expect(after <= before + 1000)
    }

    /// Cancelled tasks of any tenant may have left any number of part files for others.
    @Test func whatIsKeptOfOtherTasksCostsAnErasureNothing() async throws {
        let fixture = try await StoreFixture()
        let meter = PageMeter()
        try await meter.holdStatistics()
        try await fixture.putSession("brief", kind: .ephemeral)
        let tasks = try await fixture.submit(10, to: "brief")
        try await invalidate(fixture, "brief")
        func pages() async throws -> Int64 {
            try await meter.pages { stores in
                let remains = try await stores.erasure.tasksToErase()
                #expect(Set(remains.map(\.task)) == Set(tasks))
            }
        }
        // Plans are made now, and kept.
        let before = try await pages()
        _ = try await fixture.aside.execute(
            """
            INSERT INTO resume_data (
                id, tenant_id, part_fence, source_task_id, boot_id, bytes_durable, bytes_total,
                validator)
            SELECT gen_random_uuid(), \(fixture.tenant.uuid), n, gen_random_uuid(),
                gen_random_uuid(), 1, 2, '"1"'
            FROM generate_series(1, 40000) AS n
            """
        )
        let after = try await pages()
        // Each look-up reads a page more where an index has become higher.
        #expect(after <= before + 400)
    }

    /// However many subscribers there are, no statement removes more than it has time for.
    @Test func sessionsOfManySubscribersAreErasedInTurn() async throws {
        let fixture = try await StoreFixture()
        for name in ["first", "second"] {
            try await fixture.putSession(name, kind: .ephemeral)
            try await invalidate(fixture, name)
        }
        _ = try await fixture.aside.execute(
            """
            INSERT INTO subscription (id, tenant_id, url)
            SELECT gen_random_uuid(), \(fixture.tenant.uuid), 'https://hook.test/'
            FROM generate_series(1, \(Int64(RetentionStore.sessionSubscriptionsMax)))
            """
        )
        let first = try await fixture.stores.erasure.erase([])
        #expect(first.sessions == 1 && first.isMore)
        let second = try await fixture.stores.erasure.erase([])
        #expect(second.sessions == 1 && !second.isMore)
    }

    /// An erasure may wait, or take long, and has nothing then that other tenants' readers need.
    @Test func anErasureHoldsUpNoFeedOfAnotherTenant() async throws {
        let fixture = try await StoreFixture()
        let stores = fixture.stores
        let other = try await stores.keys.createAPIKey(
            NewAPIKey(id: "other", secretSHA256: Array(repeating: 1, count: 32), name: "other"),
            tenantName: "other"
        )
        _ = try await stores.sessions.putSession(
            tenant: other,
            identifier: "theirs",
            configuration: nil
        )
        try await fixture.putSession("brief", kind: .ephemeral)
        try await invalidate(fixture, "brief")
        _ = try await stores.submissions.submit(
            StoreFixture.submissions(1),
            tenant: other,
            sessionIdentifier: "theirs"
        )
        let holder = try await TestDatabase.current.connection()
        _ = try await holder.execute("BEGIN")
        _ = try await holder.execute("SELECT FROM erasure FOR UPDATE")
        async let erased = stores.erasure.erase([])
        try await fixture.eventuallyWaits(for: holder)
        #expect(try await stores.events.extendFeeds(of: [other]) == [other: 1])
        _ = try await holder.execute("COMMIT")
        let sessions = try await erased.sessions
        #expect(sessions == 1)
    }
}
