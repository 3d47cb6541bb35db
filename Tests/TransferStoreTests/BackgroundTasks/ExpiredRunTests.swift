import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// The cancellation of the transfers of runs that have expired.
@Suite(.postgresSchema) struct ExpiredRunTests {
    /// However many runs it has, and transfers of each.
    @Test func aTenantLeavesOthersTheirTurn() async throws {
        let fixture = try await StoreFixture()
        let other = try await fixture.stores.keys.createAPIKey(
            NewAPIKey(id: "other", secretSHA256: Array(repeating: 1, count: 32), name: "other"),
            tenantName: "other"
        )
        var many: [UUID] = []
        for _ in 0..<3 {
            many.append(
                try await expiredRun(
                    of: fixture.tenant,
                    transfers: TimerStore.cancelledMax + 1,
                    fixture
                )
            )
        }
        let theirs = try await expiredRun(of: other, transfers: 1, fixture)
        var pages: [UUID] = []
        while try await fixture.stores.timers.cancelTransfers(onCancelled: { run in
            pages.append(run.uuid)
        }) {}
        #expect(pages.prefix(2).contains(theirs))
        for run in many {
            #expect(pages.count(where: { $0 == run }) == 2)
            let kept = try await fixture.stores.runs.run(
                BackgroundTaskRunID(run),
                of: fixture.tenant
            )
            #expect(kept?.transfers == Int64(TimerStore.cancelledMax + 1))
        }
        #expect(pages.count(where: { $0 == theirs }) == 1)
    }

    /// Makes a run that has expired, with transfers of which nothing is left but that they were
    /// linked.
    private func expiredRun(
        of tenant: TenantID,
        transfers: Int,
        _ fixture: StoreFixture
    ) async throws -> UUID {
        let id = UUID()
        _ = try await fixture.aside.execute(
            """
            WITH run AS (
                INSERT INTO background_task_run (
                    id, client_id, tenant_id, request_id, identifier, kind, launched_at,
                    launch_sequence, deadline_at, has_expiration_handler, cancels_transfers,
                    completes_with_transfers, accepted_at, ended_at, reason, must_cancel)
                SELECT \(id), c.id, c.tenant_id, gen_random_uuid(), 'clean', 'processing', now(),
                    1, now(), false, true, false, now(), now(), 'deadline_passed', true
                FROM client c
                WHERE c.tenant_id = \(tenant.uuid) AND c.identifier = \(ClientID.default.name)
                RETURNING id
            )
            INSERT INTO background_task_transfer (run_id, task_id)
            SELECT r.id, gen_random_uuid()
            FROM run r CROSS JOIN generate_series(1, \(Int64(transfers)))
            """
        )
        return id
    }
}
