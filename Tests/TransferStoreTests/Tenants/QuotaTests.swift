import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct QuotaTests {
    /// Returns the quota that `body` exceeds; nil when it exceeds none.
    private func quota(_ body: () async throws -> Void) async throws -> Quota? {
        do {
            try await body()
            return nil
        } catch StoreError.quotaExceeded(let quota) {
            return quota
        }
    }

    private func limit(_ maximum: Int64?, _ fixture: StoreFixture) async throws {
        let isKnown = try await fixture.stores.tenants.limitTenant(
            named: "test",
            changes: TenantLimitChanges(outstandingTasksMax: maximum)
        )
        #expect(isKnown)
    }

    @Test func aTenantHasAsManyOutstandingTasksAsItMayOverAllItsSessions() async throws {
        let fixture = try await StoreFixture()
        let full = Quota(.outstandingTasks, maximum: 3)
        try await fixture.putSession("other")
        try await limit(3, fixture)
        let ids = try await fixture.submit(2)
        #expect(try await quota { try await fixture.submit(2, to: "other") } == full)
        try await fixture.submit(1, to: "other")
        #expect(try await quota { try await fixture.submit() } == full)
        #expect(try await fixture.session().progress.outstanding == 2)
        #expect(try await fixture.session().progress.lastSequence == 2)
        // Ended tasks no longer count, nor do those that end with their session.
        try await fixture.complete(try await fixture.claim(1))
        try await fixture.submit()
        #expect(try await quota { try await fixture.submit() } == full)
        _ = try await fixture.stores.sessions.invalidateSession(
            tenant: fixture.tenant,
            identifier: "other"
        )
        try await fixture.submit()
        #expect(try await quota { try await fixture.submit() } == full)
        try await limit(nil, fixture)
        try await fixture.submit(1000)
        #expect(ids.count == 2)
        try await fixture.checkInvariants()
        let isKnown = try await fixture.stores.tenants.limitTenant(
            named: "?",
            changes: TenantLimitChanges(outstandingTasksMax: 1)
        )
        #expect(!isKnown)
    }

    @Test func aLimitThatIsNotNamedStays() async throws {
        let fixture = try await StoreFixture()
        func limits() async throws -> [Int64?] {
            let rows = try await fixture.aside.execute(
                """
                SELECT total_bytes_per_second_max AS rate, outstanding_tasks_max AS tasks,
                    running_tasks_max::bigint AS running FROM tenant WHERE name = 'test'
                """
            )
            let row = try #require(rows.first)
            return try ["rate", "tasks", "running"].map { try row.decodeIfPresent($0) }
        }
        func change(_ changes: TenantLimitChanges) async throws {
            #expect(try await fixture.stores.tenants.limitTenant(named: "test", changes: changes))
        }
        #expect(try await limits() == [nil, nil, nil])
        try await change(
            TenantLimitChanges(
                totalBytesPerSecondMax: 4000,
                outstandingTasksMax: 10,
                runningTasksMax: 5
            )
        )
        #expect(try await limits() == [4000, 10, 5])
        try await change(TenantLimitChanges(runningTasksMax: 6))
        #expect(try await limits() == [4000, 10, 6])
        try await change(TenantLimitChanges(outstandingTasksMax: .some(nil)))
        #expect(try await limits() == [4000, nil, 6])
        try await change(
            TenantLimitChanges(totalBytesPerSecondMax: .some(nil), runningTasksMax: .some(nil))
        )
        #expect(try await limits() == [nil, nil, nil])
    }

    @Test func anotherTenantsTasksDoNotCount() async throws {
        let fixture = try await StoreFixture()
        let other = try await fixture.stores.keys.createAPIKey(
            NewAPIKey(
                id: "other",
                secretSHA256: Array(repeating: 0, count: 32),
                name: "other"
            ),
            tenantName: "other"
        )
        _ = try await fixture.stores.sessions.putSession(
            tenant: other,
            identifier: "theirs",
            configuration: SessionConfiguration()
        )
        try await limit(1, fixture)
        let result = try await fixture.stores.submissions.submit(
            StoreFixture.submissions(5),
            tenant: other,
            sessionIdentifier: "theirs"
        )
        guard case .accepted = result else {
            Issue.record("not accepted: \(result)")
            return
        }
        try await fixture.submit()
    }

    /// An existing session may be put again all the same.
    @Test func aTenantHasAsManySessionsAsItMay() async throws {
        let fixture = try await StoreFixture()
        _ = try await fixture.aside.execute(
            """
            INSERT INTO session (id, tenant_id, identifier, timeout_for_request_ms,
                timeout_for_resource_ms, additional_headers, invalidated_at)
            SELECT gen_random_uuid(), \(fixture.tenant.uuid), n::text, 1, 1, '[]',
                CASE WHEN n > \(Quota.sessionsMax - 2) THEN now() END
            FROM generate_series(1, \(Quota.sessionsMax)) n
            """
        )
        try await fixture.putSession("last")
        let full = Quota(.sessions, maximum: Quota.sessionsMax)
        #expect(try await quota { try await fixture.putSession("one more") } == full)
        try await fixture.putSession("last")
        _ = try await fixture.stores.sessions.invalidateSession(
            tenant: fixture.tenant,
            identifier: "last"
        )
        try await fixture.putSession("one more")
    }

    @Test func aTenantHasAsManyClientsAsItMay() async throws {
        let fixture = try await StoreFixture()
        _ = try await fixture.aside.execute(
            """
            INSERT INTO client (tenant_id, identifier, kind)
            SELECT \(fixture.tenant.uuid), n::text, 'app'
            FROM generate_series(1, \(Quota.clientsMax - 2)) n
            """
        )
        func put(_ name: String) async throws -> Bool {
            try await fixture.stores.clients.putClient(
                tenant: fixture.tenant,
                id: try #require(ClientID(name)),
                kind: .app
            ).isCreated
        }
        #expect(try await put("last"))
        let met = try await quota { _ = try await put("more") }
        #expect(met == Quota(.clients, maximum: Quota.clientsMax))
        #expect(try await !put("last"))
    }

    @Test func aTenantHasAsManyCredentialsAsItMay() async throws {
        let fixture = try await StoreFixture()
        func put(_ name: String) async throws -> Bool {
            try await fixture.stores.credentials.putCredential(
                tenant: fixture.tenant,
                name: name,
                form: .bearer,
                origins: [],
                secrets: Credential.Secrets(main: Secret("a"))
            ).isCreated
        }
        #expect(try await put("first"))
        _ = try await fixture.aside.execute(
            """
            INSERT INTO credential (id, tenant_id, name, kind, form, origins, secret)
            SELECT gen_random_uuid(), tenant_id, n::text, kind, form, origins, secret
            FROM credential, generate_series(1, \(Quota.credentialsMax - 1)) n
            """
        )
        let met = try await quota { _ = try await put("more") }
        #expect(met == Quota(.credentials, maximum: Quota.credentialsMax))
        #expect(try await !put("first"))
    }

    @Test func aTenantHasAsManySubscriptionsAsItMay() async throws {
        let fixture = try await StoreFixture()
        let first = try await fixture.subscribe()
        _ = try await fixture.aside.execute(
            """
            INSERT INTO subscription (id, tenant_id, url)
            SELECT gen_random_uuid(), tenant_id, url
            FROM subscription, generate_series(1, \(Quota.subscriptionsMax - 1))
            """
        )
        let full = Quota(.subscriptions, maximum: Quota.subscriptionsMax)
        #expect(try await quota { try await fixture.subscribe() } == full)
        _ = try await fixture.stores.subscriptions.deleteSubscription(
            tenant: fixture.tenant,
            id: first
        )
        try await fixture.subscribe()
    }

    /// Nobody has to set a limit for this.
    @Test func oneTenantLeavesRoomInTheQueueForOthers() async throws {
        let fixture = try await StoreFixture()
        let other = try await fixture.stores.keys.createAPIKey(
            NewAPIKey(
                id: "other",
                secretSHA256: Array(repeating: 0, count: 32),
                name: "other"
            ),
            tenantName: "other"
        )
        _ = try await fixture.stores.sessions.putSession(
            tenant: other,
            identifier: StoreFixture.identifier,
            configuration: SessionConfiguration()
        )
        var settings = StoreSettings()
        settings.queueMax = 100
        let stores = Stores(Database(pool: TestDatabase.current.pool(), settings: settings))
        func submit(_ count: Int, _ tenant: TenantID) async throws -> SubmitResult {
            try await stores.submissions.submit(
                StoreFixture.submissions(count),
                tenant: tenant,
                sessionIdentifier: StoreFixture.identifier
            )
        }
        guard case .accepted = try await submit(70, fixture.tenant) else {
            Issue.record("a part of the queue could not be had")
            return
        }
        #expect(try await fixture.stores.counts.foldMoves() == 1)
        let full = try await quota { _ = try await submit(6, fixture.tenant) }
        #expect(full == Quota(.outstandingTasks, maximum: 72))
        for _ in 0..<3 {
            guard case .accepted = try await submit(2, other) else {
                Issue.record("another tenant finds no room")
                return
            }
        }
    }

    @Test func aQueueMayBeAsLongAsANumberSays() async throws {
        let fixture = try await StoreFixture()
        var settings = StoreSettings()
        settings.queueMax = .max
        let stores = Stores(Database(pool: TestDatabase.current.pool(), settings: settings))
        let result = try await stores.submissions.submit(
            StoreFixture.submissions(1),
            tenant: fixture.tenant,
            sessionIdentifier: StoreFixture.identifier
        )
        guard case .accepted = result else {
            Issue.record("not accepted: \(result)")
            return
        }
    }

    @Test func aFullQueueTakesNothingUntilItIsShorter() async throws {
        let fixture = try await StoreFixture()
        var settings = StoreSettings()
        settings.queueMax = 4
        let stores = Stores(Database(pool: TestDatabase.current.pool(), settings: settings))
        func submit(_ count: Int) async throws -> SubmitResult {
            try await stores.submissions.submit(
                StoreFixture.submissions(count),
                tenant: fixture.tenant,
                sessionIdentifier: StoreFixture.identifier
            )
        }
        guard case .queueFull = try await submit(5) else {
            Issue.record("more than the queue holds were taken")
            return
        }
        func isFull(for count: Int) async throws -> Bool {
            _ = try await fixture.stores.counts.foldMoves()
            return if case .queueFull = try await submit(count) { true } else { false }
        }
        #expect(try await !isFull(for: 3))
        #expect(try await isFull(for: 2))
        // Running tasks are no longer in it, and suspended ones still are.
        #expect(try await fixture.claim(3).count == 3)
        #expect(try await !isFull(for: 3))
        let waiting = try #require(try await fixture.claim(1).first)
        try await fixture.end([waiting], .released)
        _ = try await stores.control.suspendTask(tenant: fixture.tenant, id: waiting.task)
        #expect(try await isFull(for: 2))
        try await fixture.checkInvariants()
    }
}
