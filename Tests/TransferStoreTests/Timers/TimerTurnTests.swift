import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// Which of what is due a turn looks at, and that none of it holds up the rest.
@Suite(.postgresSchema) struct TimerTurnTests {
    private static let task = BackgroundTaskIdentifier(stored: "clean")

    @Test func aFloodOfOneTenantLeavesOthersTheirPlaceInATurn() async throws {
        let fixture = try await StoreFixture()
        try await flood(fixture)
        let other = try await otherTenant(fixture)
        let id = try await submit(fixture, other)
        let due = try await fixture.stores.timers.dueRequests()
        #expect(due.count == TimerStore.turnMax)
        #expect(due.contains { $0.id == id })
    }

    @Test func aFloodOfClientsLeavesThoseOfOthersTheirPlaceInATurn() async throws {
        let fixture = try await StoreFixture()
        let other = try await otherTenant(fixture)
        _ = try await fixture.aside.execute(
            """
            WITH made AS (
                INSERT INTO client (
                    tenant_id, identifier, kind, lifecycle, grace_ends_at, assertions_end_at)
                SELECT \(fixture.tenant.uuid), 'c' || n, 'app', 'background',
                    now() - interval '1 hour', now() + interval '1 hour'
                FROM generate_series(1, \(Int64(TimerStore.turnMax + 100))) AS n
                RETURNING id, tenant_id, grace_ends_at
            )
            INSERT INTO timer (subject, kind, tenant_id, due_at)
            SELECT id, 'client', tenant_id, grace_ends_at FROM made
            """
        )
        let (stores, clock) = (fixture.stores, BackgroundClock(fixture.stores, fixture.aside))
        _ = try await stores.clients.enterBackground(tenant: other, id: .default)
        try await clock.move(6)
        #expect(try await stores.timers.advanceClients() == TimerStore.turnMax)
        let client = try await stores.clients.client(tenant: other, id: .default)
        #expect(client?.lifecycle == .suspended)
    }

    @Test func aRequestWithoutAnotherOccurrenceEndsAndHoldsUpNoLaunch() async throws {
        let fixture = try await StoreFixture()
        let other = try await otherTenant(fixture)
        try await register(fixture, fixture.tenant)
        let last = try await submit(fixture, fixture.tenant) {
            $0.recurrence = Recurrence(rule: .every(.seconds(900)), missed: .skip)
        }
        let launched = try await submit(fixture, other)
        let due = try await fixture.stores.timers.dueRequests()
        #expect(Set(due.map(\.id)) == [last, launched])
        let count = try await fixture.stores.timers.decide(
            due.map { request -> (request: DueRequest, decision: LaunchDecision) in
                let decision: LaunchDecision =
                    request.id == last ? .skip(next: nil) : .launch(next: nil)
                return (request, decision)
            }
        )
        #expect(count == 2)
        #expect(try await pendingWait(fixture) == nil)
        #expect(try await timers(last, fixture) == 0)
        let runs = try await fixture.stores.runs.runs(
            of: .default,
            tenant: other,
            before: nil,
            limit: 10
        )
        #expect(runs.map(\.state) == [.launched])
    }

    @Test func anOccurrenceThatRunsIsRepeatedThoughNoOtherFollows() async throws {
        let fixture = try await StoreFixture()
        try await register(fixture, fixture.tenant)
        let id = try await submit(fixture, fixture.tenant) {
            $0.recurrence = Recurrence(rule: .every(.seconds(10)), missed: .skip)
        }
        try await fixture.stores.advanceTimers()
        try await BackgroundClock(fixture.stores, fixture.aside).move(75)
        let due = try await fixture.stores.timers.dueRequests()
        #expect(due.map(\.id) == [id])
        let count = try await fixture.stores.timers.decide(
            due.map { ($0, LaunchDecision.skip(next: nil)) }
        )
        #expect(count == 1)
        #expect(try await pendingWait(fixture) == nil)
        #expect(try await timers(id, fixture) == 0)
        // Nobody has accepted the launch.
        #expect(try await fixture.stores.timers.advanceRuns() == 1)
        #expect(try await pendingWait(fixture)?.reason == .relaunch)
        #expect(try await timers(id, fixture) == 1)
    }

    /// Makes 5,000 requests of the fixture's tenant that have been due for an hour.
    private func flood(_ fixture: StoreFixture) async throws {
        _ = try await fixture.aside.execute(
            """
            WITH made AS (
                INSERT INTO client (tenant_id, identifier, kind)
                SELECT \(fixture.tenant.uuid), 'c' || n, 'app' FROM generate_series(1, 500) AS n
                RETURNING id, tenant_id
            ),
            request AS (
                INSERT INTO background_task_request (
                    id, client_id, tenant_id, identifier, kind, submitted_at, requires_network,
                    requires_power, cancels_transfers, completes_with_transfers, occurrence_at,
                    due_at, waits_for, waits_since)
                SELECT gen_random_uuid(), m.id, m.tenant_id, 'task' || i, 'processing', now(),
                    false, false, false, false, now() - interval '1 hour',
                    now() - interval '1 hour', 'date', now()
                FROM made m CROSS JOIN generate_series(0, 9) AS i
                RETURNING id, tenant_id, due_at
            )
            INSERT INTO timer (subject, kind, tenant_id, due_at)
            SELECT id, 'request', tenant_id, due_at FROM request
            """
        )
    }

    /// Makes another tenant, whose default client has a handler.
    private func otherTenant(_ fixture: StoreFixture) async throws -> TenantID {
        let other = try await fixture.stores.keys.createAPIKey(
            NewAPIKey(id: "other", secretSHA256: Array(repeating: 1, count: 32), name: "other"),
            tenantName: "other"
        )
        try await register(fixture, other)
        return other
    }

    private func register(_ fixture: StoreFixture, _ tenant: TenantID) async throws {
        var change = BackgroundSettingsChange()
        change.permittedIdentifiers = PermittedIdentifiers(stored: ["*"])
        _ = try await fixture.stores.tenants.changeBackgroundSettings(of: tenant, change)
        _ = try await fixture.stores.handlers.registerHandler(
            Self.task,
            kind: .processing,
            hasExpirationHandler: false,
            of: .default,
            tenant: tenant
        )
    }

    private func submit(
        _ fixture: StoreFixture,
        _ tenant: TenantID,
        _ change: (inout BackgroundTaskRequest) -> Void = { _ in }
    ) async throws -> BackgroundTaskRequestID {
        var request = BackgroundTaskRequest(identifier: Self.task)
        change(&request)
        let id = BackgroundTaskRequestID(.version7())
        let result = try await fixture.stores.requests.submitRequest(
            request,
            id,
            occurrence: nil,
            of: .default,
            tenant: tenant
        )
        guard case .submitted = result else {
            Issue.record("\(result)")
            return id
        }
        return id
    }

    /// Returns the number of timers of a request.
    private func timers(
        _ id: BackgroundTaskRequestID,
        _ fixture: StoreFixture
    ) async throws -> Int {
        try await fixture.aside.execute("SELECT 1 FROM timer WHERE subject = \(id.uuid)").count
    }

    /// Returns what the request of the fixture's tenant waits for; nil when none is pending.
    private func pendingWait(_ fixture: StoreFixture) async throws -> RequestWait? {
        try await fixture.stores.requests.pendingRequest(
            Self.task,
            of: .default,
            tenant: fixture.tenant
        )?.wait
    }
}
