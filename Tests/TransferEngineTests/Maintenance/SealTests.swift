import Postgres
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferEngine
@testable import TransferStore

/// The sealing of the audit log as a chore.
@Suite(.postgresSchema, .timeLimit(.minutes(4))) struct SealTests {
    /// No block is ever removed: what was written during one does not get another at once.
    @Test func aBlockIsFollowedByAPauseUnlessItIsFull() async throws {
        let fixture = try await EngineFixture()
        let aside = try await TestDatabase.current.connection()
        let audit = AuditStore(fixture.stores.database)
        let entry = AuditEntry(actor: "key", action: "PUT", object: "session")
        try await audit.record(Array(repeating: entry, count: AuditStore.blockEntriesMax))
        try await audit.record([entry])
        try await eventually("no transaction is left that began before", within: .seconds(180)) {
            let rows = try await aside.execute(
                """
                SELECT FROM audit_entry
                WHERE transaction >= pg_snapshot_xmin(pg_current_snapshot()) LIMIT 1
                """
            )
            return rows.isEmpty
        }
        let pruner = try fixture.eagerPruner()
        var isMore: [Bool] = []
        for _ in 0..<2 {
            guard case .more = try await pruner.sealAudit() else {
                isMore.append(false)
                continue
            }
            isMore.append(true)
        }
        #expect(isMore == [true, false])
        #expect(try await audit.verify().unsealed == 0)
    }
}
