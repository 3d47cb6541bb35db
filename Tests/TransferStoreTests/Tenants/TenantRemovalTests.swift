import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// The removal of a tenant with everything that it owns.
@Suite(.postgresSchema, .timeLimit(.minutes(5))) struct TenantRemovalTests {
    /// Removes the tenant to the end; each round is that of another process.
    private func remove(
        _ fixture: StoreFixture,
        after round: () async throws -> Void = {}
    ) async throws {
        let removals = fixture.stores.ownerRemovals
        #expect(try await removals.beginTenantRemoval(named: "test"))
        #expect(try await !removals.beginTenantRemoval(named: "test"))
        try await fixture.removeOwners(after: round)
    }

    private func identifiers(
        of tenant: TenantID,
        _ fixture: StoreFixture
    ) async throws -> [String: [UUID]] {
        func select(_ query: Query) async throws -> [UUID] {
            try await fixture.aside.execute(query).map { try $0.decode("id") }
        }
        let clients = try await select("SELECT id FROM client WHERE tenant_id = \(tenant.uuid)")
        return [
            "tenant_id": [tenant.uuid], "client_id": clients,
            "session_id": clients + [tenant.uuid]
                + (try await select("SELECT id FROM session WHERE tenant_id = \(tenant.uuid)")),
            "task_id": try await select("SELECT id FROM task WHERE tenant_id = \(tenant.uuid)"),
            "subscription_id": try await select(
                "SELECT id FROM subscription WHERE tenant_id = \(tenant.uuid)"
            ),
        ]
    }

    /// Fills the tenant with tasks in many states, sessions of both kinds, and what else it may
    /// own.
    private func fill(_ fixture: StoreFixture) async throws {
        let stores = fixture.stores
        let tenant = fixture.tenant
        try await fixture.subscribe()
        try await fixture.putSession("hidden", kind: .ephemeral)
        try await fixture.putSession("ended")
        try await fixture.submit(3, to: "ended")
        #expect(try await stores.sessions.invalidateSession(tenant: tenant, identifier: "ended"))
        try await fixture.submit(2, to: "hidden")
        let ids = try await fixture.submit(6) { task, number in
            task.clientString = ClientString("task \(number)")
            if number == 4 {
                let source = CopySource.result(of: TaskID(.version7()))
                task.request = TransferRequest(upload: .copy(source))
            }
            if number == 5 { task.autostart = false }
        }
        let claims = try await fixture.claim(20)
        let mine = claims.filter { ids.contains($0.task) }
        try await fixture.complete([mine[0], mine[1]])
        try await fixture.end([mine[2]], .failed(StoreFixture.failure))
        try await stores.retention.expire([mine[0].task])
        _ = try await stores.sessions.reconnect(
            try await fixture.session().id,
            owner: nil,
            time: .seconds(60),
            after: nil,
            limit: 2
        )
        _ = try await fixture.claimDeliveries()
        _ = try await stores.clients.putClient(tenant: tenant, id: .default, kind: .app)
        _ = try await stores.clients.forceQuit(tenant: tenant, id: .default)
        _ = try await stores.clients.launch(tenant: tenant, id: .default)
        while try await stores.counts.foldMoves() > 0 {}
    }

    private func otherTenant(_ fixture: StoreFixture) async throws -> TenantID {
        let other = try await fixture.stores.keys.createAPIKey(
            NewAPIKey(id: "other", secretSHA256: Array(repeating: 1, count: 32), name: "other"),
            tenantName: "other"
        )
        _ = try await fixture.stores.sessions.putSession(
            tenant: other,
            client: .default,
            identifier: StoreFixture.identifier,
            kind: .background,
            configuration: SessionConfiguration()
        )
        _ = try await fixture.stores.submissions.submit(
            StoreFixture.submissions(3),
            tenant: other,
            sessionIdentifier: StoreFixture.identifier
        )
        while try await fixture.stores.counts.foldMoves() > 0 {}
        return other
    }

    @Test func nothingOfItIsLeftAndNothingOfOthersIsTouched() async throws {
        let fixture = try await StoreFixture()
        let other = try await otherTenant(fixture)
        try await fill(fixture)
        let stores = fixture.stores
        let holdings = try #require(
            try await stores.ownerRemovals.tenantHoldings(named: "test")
        )
        #expect(holdings.sessions == 3 && holdings.subscriptions == 1 && holdings.keys == 1)
        #expect(holdings.tasks == 10)
        let mine = try await identifiers(of: fixture.tenant, fixture)
        let theirs = try await identifiers(of: other, fixture)
        let before = try await fixture.rows(of: theirs)
        #expect(try await fixture.rows(of: mine).count > 15)
        try await remove(fixture)
        #expect(try await fixture.rows(of: mine) == [:])
        #expect(try await fixture.rows(of: theirs) == before)
        #expect(try await stores.ownerRemovals.tenantHoldings(named: "test") == nil)
        try await fixture.checkInvariants()
    }

    @Test func itsKeysEndAndItsNameIsFreeAtOnce() async throws {
        let fixture = try await StoreFixture()
        let stores = fixture.stores
        #expect(try await stores.ownerRemovals.beginTenantRemoval(named: "test"))
        #expect(try await stores.keys.goodAPIKeys(among: ["test"]).isEmpty)
        let again = try await stores.keys.createAPIKey(
            NewAPIKey(id: "new", secretSHA256: Array(repeating: 2, count: 32), name: "new"),
            tenantName: "test"
        )
        #expect(again != fixture.tenant)
        #expect(try await stores.keys.goodAPIKeys(among: ["new"]) == ["new"])
    }

    /// What runs is taken away from its worker first, whose files are gone before the tasks are.
    @Test func runningTasksAreCancelledFirst() async throws {
        let fixture = try await StoreFixture()
        let stores = fixture.stores
        try await fixture.submit(2)
        let claims = try await fixture.claim()
        #expect(claims.count == 2)
        #expect(try await stores.ownerRemovals.beginTenantRemoval(named: "test"))
        for _ in 0..<10 { #expect(try await !stores.removalTurn()) }
        let controls = try await stores.workers.controls(incarnation: fixture.worker.incarnation)
        #expect(Set(controls.revocations) == Set(claims.map(\.fence)))
        #expect(try await fixture.count("SELECT count(*) AS count FROM task") == 2)
        try await stores.workers.removeRevocations(claims.map(\.fence))
        for _ in 0..<20 where try await !stores.removalTurn() {}
        #expect(try await stores.ownerRemovals.ownersBeingRemoved().isEmpty)
    }

    /// A session of any size goes in pages, so that no statement holds others up.
    @Test func aLargeSessionGoesAThousandTasksAtATime() async throws {
        let fixture = try await StoreFixture()
        let count: Int64 = 20_000
        for _ in 0..<count / 1000 { try await fixture.submit(1000) }
        while try await fixture.stores.counts.foldMoves() > 0 {}
        var left = count
        var ended: Int64 = 0
        try await remove(fixture) {
            let now = try await fixture.count("SELECT count(*) AS count FROM task")
            let kept = try await fixture.count("SELECT count(*) AS count FROM outcome")
            let done = kept + count - now
            #expect(left - now <= 1000)
            #expect(done - ended <= 1000)
            (left, ended) = (now, done)
        }
        #expect(try await fixture.count("SELECT count(*) AS count FROM task") == 0)
        #expect(try await fixture.count("SELECT count(*) AS count FROM event_run") == 0)
    }

    /// Nothing would remove what waits for the erasure of a session that is gone.
    @Test(arguments: [false, true])
    func aSessionThatIsBeingErasedIsNotErasedTwice(isGiven: Bool) async throws {
        let fixture = try await StoreFixture()
        let removals = fixture.stores.ownerRemovals
        let id = try await fixture.putSession("brief", kind: .ephemeral).id.uuid
        let isEnded = try await fixture.stores.sessions.invalidateSession(
            tenant: fixture.tenant,
            identifier: "brief"
        )
        #expect(isEnded)
        #expect(try await removals.beginTenantRemoval(named: "test"))
        // The removal gives it to the erasure before, or meets one that waits for its subscribers.
        if isGiven { _ = try await removals.advanceRemoval(of: .tenant(fixture.tenant)) }
        let erasure = try await TestDatabase.current.connection()
        let steps: [Query] = [
            "BEGIN", "DELETE FROM erasure WHERE session_id = \(id)",
            "DELETE FROM session_progress WHERE session_id = \(id)",
            "DELETE FROM session WHERE id = \(id)",
        ]
        for step in steps { _ = try await erasure.execute(step) }
        // It does not wait for that, either.
        #expect(try await removals.advanceRemoval(of: .tenant(fixture.tenant)) == .waiting)
        _ = try await erasure.execute("COMMIT")
        await erasure.close()
        let left: Query = "SELECT count(*) AS count FROM erasure WHERE session_id = \(id)"
        #expect(try await fixture.count(left) == 0)
    }

    /// Subscriptions end in pages too, also those deleted before, and all of them before a session.
    @Test func manySubscriptionsEndBeforeTheSessions() async throws {
        let fixture = try await StoreFixture()
        let removals = fixture.stores.ownerRemovals
        let id = fixture.tenant.uuid
        _ = try await fixture.aside.execute(
            """
            INSERT INTO subscription (id, tenant_id, url, deleted_at)
            SELECT gen_random_uuid(), \(id), 'https://hook.test/',
                CASE WHEN n % 2 = 0 THEN now() END
            FROM generate_series(1, 1200) AS n
            """
        )
        func expect(ended subscriptions: Int64, sessions: Int64) async throws {
            let ofSubscriptions = try await fixture.count(
                "SELECT count(*) AS count FROM subscription WHERE deleted_at = '-infinity'"
            )
            let ofSessions = try await fixture.count(
                "SELECT count(*) AS count FROM session WHERE invalidated_at IS NOT NULL"
            )
            #expect(ofSubscriptions == subscriptions && ofSessions == sessions)
        }
        #expect(try await removals.beginTenantRemoval(named: "test"))
        try await expect(ended: 500, sessions: 0)
        #expect(try await removals.advanceRemoval(of: .tenant(fixture.tenant)) == .more)
        try await expect(ended: 1000, sessions: 0)
        #expect(try await removals.advanceRemoval(of: .tenant(fixture.tenant)) == .waiting)
        try await expect(ended: 1200, sessions: 1)
    }
}
