import Foundation
import Postgres

extension AuditStore {
    /// The number of blocks that one step of a verification reads with their entries.
    private static let verificationMax = 20
    /// The time before the end of the retention from which on a removal is in order, because the
    /// clock of the database may have been set back since.
    private static let clockMargin: Duration = .seconds(3600)

    /// Compares every block with its entries and with the block before it.
    ///
    /// Whoever may write to the database can also make a new chain. Only a block that was kept
    /// elsewhere, as in the log of the service, shows that.
    ///
    /// The number of the last block whose entries are removed is in no digest, but the time at
    /// which each block was sealed is.
    ///
    /// - Parameters:
    ///   - kept: a block that was kept elsewhere.
    ///   - retention: the time after its sealing for which no entry is removed; zero to permit
    ///     every removal.
    /// - Returns: what was found.
    /// - Throws: ``StoreError``.
    package func verify(
        kept: AuditBlock? = nil,
        retention: Duration = .zero
    ) async throws(StoreError) -> AuditReport {
        let chain = try await chain()
        var report = AuditReport(end: chain.end, removed: chain.removed, unsealed: chain.unsealed)
        var isKeptFound = kept == nil
        var firstEarly: Int64?
        var lastEarly: Int64 = 0
        while true {
            let blocks = try await verifiedBlocks(
                after: report.blocks,
                removed: chain.removed,
                retention: retention
            )
            for block in blocks {
                while report.blocks + 1 < block.number {
                    report.blocks += 1
                    report.findings.append(.blockMissing(report.blocks))
                }
                report.blocks = block.number
                report.entries += block.found
                report.findings += block.findings
                if block.number <= chain.removed { report.removedSealedAt = block.sealedAt }
                if block.isRemovedEarly {
                    firstEarly = firstEarly ?? block.number
                    lastEarly = block.number
                }
                if block.number == kept?.number { isKeptFound = block.sha256 == kept?.sha256 }
                if block.number == chain.end.number, block.sha256 != chain.end.sha256 {
                    report.findings.append(.blockAltered(block.number))
                }
            }
            if blocks.count < Self.verificationMax { break }
        }
        if report.blocks != chain.end.number {
            report.findings.append(
                .endMissing(sealed: chain.end.number, found: report.blocks)
            )
        }
        if let firstEarly {
            report.findings.append(.removedEarly(first: firstEarly, last: lastEarly))
        }
        if let kept, !isKeptFound { report.findings.append(.otherThanKept(kept.number)) }
        return report
    }

    private func chain() async throws(StoreError) -> (
        end: AuditBlock, removed: Int64, unsealed: Int64
    ) {
        let rows = try await database.run(
            """
            SELECT c.number, c.sha256, c.removed_number, (
                SELECT count(*) FROM audit_entry e
                WHERE (e.epoch, e.transaction) >= (c.before_epoch, c.before_transaction)
            ) AS unsealed
            FROM audit_chain c WHERE c.is_one
            """
        )
        guard let row = rows.first else { throw StoreError(decoding: "no chain") }
        return (
            end: try AuditBlock(row), removed: try row.decode("removed_number"),
            unsealed: try row.decode("unsealed")
        )
    }

    private struct VerifiedBlock: RowDecodable {
        let number: Int64
        let sha256: [UInt8]
        let sealedAt: Date
        let found: Int64
        let isRemovedEarly: Bool
        let findings: [AuditFinding]

        init(_ row: StoredRow) throws(StoreError) {
            number = try row.decode("number")
            sha256 = try row.decode("sha256")
            sealedAt = try row.decode("sealed_at")
            found = try row.decode("found")
            isRemovedEarly = try row.decode("is_removed_early")
            var findings: [AuditFinding] = []
            if !(try row.decode("is_chained", as: Bool.self)) {
                findings.append(.blockAltered(number))
            }
            if !(try row.decode("is_whole", as: Bool.self)) {
                findings.append(
                    .entriesAltered(
                        block: number,
                        sealed: try row.decode("entry_count"),
                        found: found
                    )
                )
            }
            self.findings = findings
        }
    }

    private func verifiedBlocks(
        after number: Int64,
        removed: Int64,
        retention: Duration
    ) async throws(StoreError) -> [VerifiedBlock] {
        let age = max(Duration.zero, retention - Self.clockMargin)
        return try await database.fetch(
            VerifiedBlock.self,
            """
            SELECT b.number, b.sha256, b.sealed_at, b.entry_count, t.found,
                b.number <= \(removed) AND b.sealed_at
                    > clock_timestamp() - \(age.milliseconds) * interval '1 ms'
                    AS is_removed_early,
                b.sha256 = \(Self.chained(to: "coalesce(p.sha256, c.first)"))
                    AND coalesce((b.from_epoch, b.from_transaction)
                        = (p.before_epoch, p.before_transaction), b.number = 1) AS is_chained,
                CASE WHEN b.number <= \(removed) THEN t.found = 0
                    ELSE t.found = b.entry_count AND t.sha256 = b.entries_sha256
                END AS is_whole
            FROM audit_block b
            CROSS JOIN (SELECT decode(repeat('00', 32), 'hex') AS first) c
            LEFT JOIN audit_block p ON p.number = b.number - 1
            CROSS JOIN LATERAL (
                SELECT count(*) AS found, sha256(coalesce(string_agg(\(Self.digest), ''::bytea
                    ORDER BY e.epoch, e.transaction, e.id), '')) AS sha256
                FROM audit_entry e
                WHERE (e.epoch, e.transaction) >= (b.from_epoch, b.from_transaction)
                    AND (e.epoch, e.transaction) < (b.before_epoch, b.before_transaction)
            ) t
            WHERE b.number > \(number) ORDER BY b.number LIMIT \(Self.verificationMax)
            """
        )
    }
}
