import Postgres
import Testing
import TransferTestSupport

@testable import TransferStore

/// What tells entries that were removed for their age from those that somebody has removed.
@Suite(.postgresSchema) struct AuditRemovalTests {
    private static let retention: Duration = .seconds(90 * 24 * 3600)

    /// Makes the blocks up to `number` a hundred days old, with digests of that time.
    private static func age(_ fixture: StoreFixture, through number: Int64) async throws {
        try await AuditStoreTests.tamper(
            fixture,
            """
            UPDATE audit_block SET sealed_at = sealed_at - interval '100 days'
            WHERE number <= \(number)
            """
        )
        let previous: Query = """
            coalesce((SELECT p.sha256 FROM audit_block p WHERE p.number = b.number - 1),
                decode(repeat('00', 32), 'hex'))
            """
        // Each has the digest of the one before in its own.
        for block in Int64(1)...3 {
            try await AuditStoreTests.tamper(
                fixture,
                """
                UPDATE audit_block b SET sha256 = \(AuditStore.chained(to: previous))
                WHERE b.number = \(block)
                """
            )
        }
        try await AuditStoreTests.tamper(
            fixture,
            """
            UPDATE audit_chain c SET sha256 = b.sha256 FROM audit_block b WHERE b.number = c.number
            """
        )
    }

    /// Removes all entries, as far as the service's role can make that look right.
    private static func removeEverything(_ fixture: StoreFixture) async throws {
        _ = try await fixture.stores.database.run([
            "SELECT set_config('transferd.removes_audit_entries', 'on', true)",
            "DELETE FROM audit_entry",
            "UPDATE audit_chain SET removed_number = number",
        ])
    }

    @Test func entriesThatWereRemovedBeforeTheirTimeShow() async throws {
        let fixture = try await AuditStoreTests.log()
        let audit = fixture.stores.audit
        let end = try await audit.verify().end
        try await Self.removeEverything(fixture)
        let report = try await audit.verify(kept: end, retention: Self.retention)
        #expect(report.findings == [.removedEarly(first: 1, last: 3)])
        #expect(report.removed == 3 && report.removedSealedAt != nil)
    }

    @Test func whoeverSealsMeanwhileDoesNotEndTheRemoval() async throws {
        let fixture = try await AuditStoreTests.log()
        let audit = fixture.stores.audit
        let other = try await TestDatabase.current.connection()
        _ = try await other.execute("BEGIN")
        _ = try await other.execute("SELECT FROM audit_chain FOR UPDATE")
        async let removed = audit.removeEntries(sealedBefore: .zero)
        try await fixture.eventuallyWaits(for: other)
        _ = try await other.execute("COMMIT")
        let number = try await removed
        #expect(number == 1)
    }

    @Test func entriesThatWereRemovedForTheirAgeDoNot() async throws {
        let fixture = try await AuditStoreTests.log()
        let audit = fixture.stores.audit
        try await Self.age(fixture, through: 2)
        let end = try await audit.verify().end
        while try await audit.removeEntries(sealedBefore: Self.retention) != nil {}
        let report = try await audit.verify(kept: end, retention: Self.retention)
        #expect(report.findings.isEmpty)
        #expect(report.removed == 2 && report.entries == 2)
        // A retention that has become longer since is another one.
        let longer = try await audit.verify(retention: Self.retention * 2)
        #expect(longer.findings == [.removedEarly(first: 1, last: 2)])
        // What somebody adds to the removed ones shows alone.
        try await Self.removeEverything(fixture)
        let altered = try await audit.verify(kept: end, retention: Self.retention)
        #expect(altered.findings == [.removedEarly(first: 3, last: 3)])
    }
}
