package import Foundation
import Postgres

extension AuditStore {
    /// The maximum number of entries in a block; more only if one transaction wrote them.
    package static let blockEntriesMax = 10_000

    /// Seals entries that no other entry can precede any more, as the next block.
    ///
    /// An instance that finds another one sealing does nothing. Entries of transactions that are
    /// still running are left for the next block: the chain waits for them, and they never for it.
    ///
    /// - Returns: the block, and whether entries are left that did not fit into it; nil if there
    ///   was nothing to seal.
    package func seal() async throws(StoreError) -> (block: AuditBlock, isFull: Bool)? {
        let rows = try await database.run([
            Self.renumbering,
            """
            -- 1. Takes the end of the chain, as the last instance that sealed has left it.
            WITH chain AS MATERIALIZED (
                SELECT c.epoch, c.number, c.sha256, c.before_epoch, c.before_transaction,
                    pg_snapshot_xmin(pg_current_snapshot()) AS running
                FROM audit_chain c WHERE c.is_one FOR UPDATE SKIP LOCKED
            ),
            -- 2. One entry more than fits says where the block has to end.
            entry AS MATERIALIZED (
                SELECT e.epoch, e.transaction, e.id, e.digest
                FROM chain c CROSS JOIN LATERAL (
                    SELECT e.epoch, e.transaction, e.id, \(Self.digest) AS digest
                    FROM audit_entry e
                    WHERE (e.epoch, e.transaction) >= (c.before_epoch, c.before_transaction)
                        AND (e.epoch, e.transaction) < (c.epoch, c.running)
                    ORDER BY e.epoch, e.transaction, e.id LIMIT \(Self.blockEntriesMax + 1)
                ) e
            ),
            surplus AS MATERIALIZED (
                SELECT e.epoch, e.transaction FROM entry e
                ORDER BY e.epoch, e.transaction, e.id
                OFFSET \(Self.blockEntriesMax) LIMIT 1
            ),
            extent AS MATERIALIZED (
                SELECT coalesce(s.epoch, c.epoch) AS epoch,
                    coalesce(s.transaction, c.running) AS transaction
                FROM chain c LEFT JOIN surplus s ON true
            ),
            content AS MATERIALIZED (
                SELECT count(*) AS entry_count,
                    sha256(string_agg(e.digest, ''::bytea
                        ORDER BY e.epoch, e.transaction, e.id)) AS entries_sha256
                FROM entry e CROSS JOIN extent x
                WHERE (e.epoch, e.transaction) < (x.epoch, x.transaction)
            ),
            -- 3. Chains the block to the one before.
            block AS MATERIALIZED (
                SELECT c.number + 1 AS number, c.before_epoch AS from_epoch,
                    c.before_transaction AS from_transaction, x.epoch AS before_epoch,
                    x.transaction AS before_transaction, t.entry_count, t.entries_sha256,
                    clock_timestamp() AS sealed_at, c.sha256 AS previous
                FROM chain c CROSS JOIN extent x CROSS JOIN content t
                WHERE t.entry_count > 0
            ),
            sealed AS (
                INSERT INTO audit_block (
                    number, from_epoch, from_transaction, before_epoch, before_transaction,
                    entry_count, entries_sha256, sealed_at, sha256)
                SELECT b.number, b.from_epoch, b.from_transaction, b.before_epoch,
                    b.before_transaction, b.entry_count, b.entries_sha256, b.sealed_at,
                    \(Self.chained(to: "b.previous"))
                FROM block b
                RETURNING number, before_epoch, before_transaction, sha256
            )
            UPDATE audit_chain c SET number = s.number, sha256 = s.sha256,
                before_epoch = s.before_epoch, before_transaction = s.before_transaction
            FROM sealed s WHERE c.is_one
            RETURNING s.number, s.sha256, EXISTS (SELECT FROM surplus) AS is_full
            """,
        ])
        return try rows[1].first.map { row throws(StoreError) in
            (try AuditBlock(row), try row.decode("is_full"))
        }
    }

    /// Selects the digest of an entry `e`.
    static let digest: Query = """
        sha256(convert_to(jsonb_build_array(
            e.epoch, e.transaction::text, e.id,
            (extract(epoch FROM e.recorded_at) * 1000000)::bigint, e.request_id, e.actor,
            e.tenant_id, e.peer, e.action, e.object, e.status, e.code)::text, 'UTF8'))
        """

    /// Selects the digest of a block `b` behind the block whose digest `previous` selects.
    static func chained(to previous: Query) -> Query {
        """
        sha256(convert_to(jsonb_build_array(
            b.number, b.from_epoch, b.from_transaction::text, b.before_epoch,
            b.before_transaction::text, b.entry_count, encode(b.entries_sha256, 'hex'),
            (extract(epoch FROM b.sealed_at) * 1000000)::bigint,
            encode(\(previous), 'hex'))::text, 'UTF8'))
        """
    }

    /// Removes the entries of the oldest block that still has some, if it was sealed long enough
    /// ago; the block itself stays, so that the chain does.
    ///
    /// The time is `latest` at most, however far ahead the database's clock is.
    ///
    /// - Returns: the number of the block; nil when there is none so old.
    package func removeEntries(
        sealedBefore retention: Duration,
        notAfter latest: Date? = nil
    ) async throws(StoreError) -> Int64? {
        let rows = try await database.run([
            "SELECT set_config('transferd.removes_audit_entries', 'on', true)",
            """
            WITH chain AS MATERIALIZED (
                -- Who seals has it for a moment: to pass it over would end the removal for an hour.
                SELECT c.removed_number FROM audit_chain c WHERE c.is_one FOR UPDATE
            ),
            block AS MATERIALIZED (
                SELECT b.number, b.from_epoch, b.from_transaction, b.before_epoch,
                    b.before_transaction
                FROM chain c JOIN audit_block b ON b.number = c.removed_number + 1
                WHERE b.sealed_at
                    < least(clock_timestamp(), \(latest)) - \(retention.milliseconds) * interval '1 ms'
            ),
            removed AS (
                DELETE FROM audit_entry e USING block b
                WHERE (e.epoch, e.transaction) >= (b.from_epoch, b.from_transaction)
                    AND (e.epoch, e.transaction) < (b.before_epoch, b.before_transaction)
            )
            UPDATE audit_chain c SET removed_number = b.number
            FROM block b WHERE c.is_one
            RETURNING b.number
            """,
        ])
        return try rows[1].first?.decode("number")
    }
}

extension AuditBlock: RowDecodable {
    init(_ row: StoredRow) throws(StoreError) {
        self.init(number: try row.decode("number"), sha256: try row.decode("sha256"))
    }
}
