import Foundation
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
        try await fixture.separate([claim])
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
        async let cancelled = fixture.stores.control.cancelTask(tenant: fixture.tenant, id: id)
        try await fixture.eventuallyWaits(for: other)
        _ = try await other.execute("COMMIT")
        #expect(try await cancelled?.state == .cancelled)
        await other.close()
        #expect(try await fixture.count("SELECT count(*) AS count FROM partial") == 1)
        #expect(try await fixture.stores.parts.keptParts([(id, claim.fence)]).isEmpty)
        #expect(try await fixture.count("SELECT count(*) AS count FROM partial") == 0)
    }

    @Test func aPartThatIsStillWantedIsNotAbandonedWithItsWorker() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(4)
        let claims = try await fixture.claim()
        for claim in claims.prefix(3) {
            try await fixture.stores.parts.recordProgress([
                StoreFixture.progress(of: claim.task, fence: claim.fence)
            ])
        }
        // The first continues to run, the second is suspended, the third cancelled with resume
        // data; the fourth has nothing worth keeping.
        _ = try await suspend(ids[1], fixture)
        _ = try await fixture.stores.control.cancelTask(
            tenant: fixture.tenant,
            id: ids[2],
            producing: ResumeDataID(UUID())
        )
        try await fixture.silence(fixture.worker)
        let rescuer = try await fixture.otherWorker()
        let takeover = try await fixture.stores.workers.takeOver(
            silentFor: .seconds(600),
            identity: rescuer
        )
        #expect(takeover.attempts.count == 2)
        #expect(try await fixture.stores.parts.abandonedParts().map(\.fence) == [claims[3].fence])
        try await fixture.checkInvariants()
    }
}
