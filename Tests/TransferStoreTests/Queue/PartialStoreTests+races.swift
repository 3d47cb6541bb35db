import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

extension PartialStoreTests {
    /// The cancellation waits for the checkpoint and does not see what it has stored.
    @Test func aCheckpointThatComesWithACancellationKeepsNoFile() async throws {
        let fixture = try await StoreFixture(connectionsMax: 4)
        let id = try await fixture.submit()[0]
        let claim = try await fixture.claim()[0]
        let other = try await TestDatabase.current.connection()
        _ = try await other.execute("BEGIN")
        _ = try await other.execute(
            "SELECT fence FROM attempt WHERE task_id = \(id.uuid) FOR KEY SHARE"
        )
        _ = try await other.execute(
            """
            INSERT INTO partial (
                task_id, part_fence, boot_id, bytes_durable, bytes_total, validator)
            VALUES (\(id.uuid), \(claim.fence.rawValue), \(StoreFixture.bootID), 5, 10, '"1"')
            """
        )
        let holder: Int32 = try await other.execute("SELECT pg_backend_pid() AS pid")[0]
            .decode("pid")
        async let cancelled = fixture.store.cancelTask(tenant: fixture.tenant, id: id)
        try await eventually("the cancellation waits") {
            try await fixture.count(
                """
                SELECT count(*) AS count FROM pg_stat_activity
                WHERE \(holder) = ANY (pg_blocking_pids(pid))
                """
            ) > 0
        }
        _ = try await other.execute("COMMIT")
        #expect(try await cancelled?.state == .cancelled)
        await other.close()
        #expect(try await fixture.count("SELECT count(*) AS count FROM partial") == 1)
        #expect(try await fixture.store.keptParts([(id, claim.fence)]).isEmpty)
        #expect(try await fixture.count("SELECT count(*) AS count FROM partial") == 0)
    }
}
