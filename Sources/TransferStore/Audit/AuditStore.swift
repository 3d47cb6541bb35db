import Foundation
import Postgres
package import TransferModel

/// The audit log: entries, the blocks that seal them, and what tells whether any was altered
/// (docs/decisions/0049).
package struct AuditStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension AuditStore {
    /// Returns the statement that stores entries.
    static func insert(_ entries: [AuditEntry]) -> Query {
        "\(insertion(of: entries.map { (0, $0) })) WHERE c.is_one"
    }

    /// Returns the statement that stores entries behind the statements of the change that they are
    /// about, in its transaction; it stores none if these changed nothing.
    ///
    /// A transaction that only locked rows counts as a change.
    static func insertWithChange(_ entries: [AuditEntry]) -> Query {
        """
        \(insert(entries)) AND pg_current_xact_id_if_assigned() IS NOT NULL
        """
    }

    /// Returns the statement that stores the entries of those batches of a submission that are
    /// stored; expects `counter(batch)`.
    static func insertStored(_ entries: [(batch: Int64, entry: AuditEntry)]) -> Query {
        "\(insertion(of: entries)) JOIN counter k USING (batch) WHERE c.is_one"
    }

    /// Returns the statement, without its condition, that stores entries.
    private static func insertion(of items: [(batch: Int64, entry: AuditEntry)]) -> Query {
        let entries = items.map(\.entry)
        return """
            INSERT INTO audit_entry (
                epoch, request_id, actor, tenant_id, peer, action, object, status, code)
            SELECT c.epoch + (\(isBehind("pg_current_xact_id()")))::int, e.request_id, e.actor,
                e.tenant_id, e.peer, e.action, e.object, e.status, e.code
            FROM audit_chain c CROSS JOIN unnest(
                \(items.map(\.batch)), \(entries.map(\.requestID)), \(entries.map(\.actor)),
                \(entries.map { $0.tenant?.uuid }), \(entries.map(\.peer)),
                \(entries.map(\.action)), \(entries.map(\.object)),
                \(entries.map { $0.status.map { Int16(clamping: $0) } }), \(entries.map(\.code))
            ) AS e (batch, request_id, actor, tenant_id, peer, action, object, status, code)
            """
    }

    /// Stores entries of calls that changed nothing, such as refused ones.
    package func record(_ entries: [AuditEntry]) async throws(StoreError) {
        _ = try await database.run(Self.insert(entries))
    }

    /// Begins a new numbering of transactions if this database was restored to a server that has
    /// had fewer than the one before.
    ///
    /// Entries that were recorded between that and this have the new numbering already.
    package func begin() async throws(StoreError) { _ = try await database.run(Self.renumbering) }

    /// The statement of ``begin()``; its transaction has a number only if it changes something.
    static var renumbering: Query {
        """
        UPDATE audit_chain c SET epoch = c.epoch + 1
        WHERE c.is_one AND c.epoch = c.before_epoch AND (
            \(isBehind("pg_snapshot_xmax(pg_current_snapshot())"))
            -- Since the first of them, there may have been more transactions than before.
            OR EXISTS (SELECT 1 FROM audit_entry e WHERE e.epoch > c.epoch))
        """
    }

    /// Whether a transaction of now has a lower number than one whose entries the chain `c` has
    /// sealed.
    private static func isBehind(_ transaction: Query) -> Query {
        "c.epoch = c.before_epoch AND c.before_transaction > \(transaction)"
    }

    /// Returns a page of entries, the newest first.
    package func entries(
        before position: AuditRecord.Position?,
        limit: Int
    ) async throws(StoreError) -> [AuditRecord] {
        try await database.fetch(
            AuditRecord.self,
            """
            SELECT \(Self.columns) FROM audit_entry e WHERE \(Self.isBefore(position))
            ORDER BY e.epoch DESC, e.transaction DESC, e.id DESC LIMIT \(limit)
            """
        )
    }

    /// The columns of an entry `e`.
    static let columns: Query = """
        e.epoch, e.transaction::text AS transaction, e.id, e.recorded_at, e.request_id, e.actor,
        e.tenant_id, e.peer, e.action, e.object, e.status, e.code
        """

    /// Whether an entry `e` comes before a position.
    static func isBefore(_ position: AuditRecord.Position?) -> Query {
        """
        (e.epoch, e.transaction, e.id) < (\(position?.epoch ?? .max),
            \(position?.transaction ?? "18446744073709551615")::text::xid8,
            \(position?.id ?? .max))
        """
    }
}

extension AuditRecord: RowDecodable {
    init(_ row: StoredRow) throws(StoreError) {
        self.init(
            position: Position(
                epoch: try row.decode("epoch"),
                transaction: try row.decode("transaction"),
                id: try row.decode("id")
            ),
            recordedAt: try row.decode("recorded_at"),
            entry: AuditEntry(
                requestID: try row.decodeIfPresent("request_id"),
                actor: try row.decodeIfPresent("actor"),
                tenant: try row.decodeIfPresent("tenant_id", as: UUID.self).map(TenantID.init),
                peer: try row.decodeIfPresent("peer"),
                action: try row.decode("action"),
                object: try row.decode("object"),
                status: try row.decodeIfPresent("status", as: Int16.self).map(Int.init),
                code: try row.decodeIfPresent("code")
            )
        )
    }
}

/// The audit log of one tenant.
extension AuditStore {
    /// The number of entries that one page looks through.
    package static let lookMax = 10_000

    /// Returns a page of the entries about a tenant, the newest first.
    ///
    /// No index has the entries of a tenant alone, because each change would write it. A page looks
    /// through at most ``lookMax`` entries of all tenants, and may hold fewer than `limit`, or
    /// none, although more follow.
    package func entries(
        of tenant: TenantID,
        before position: AuditRecord.Position?,
        limit: Int
    ) async throws(StoreError) -> AuditPage {
        let rows = try await database.run(
            """
            WITH look AS MATERIALIZED (
                SELECT e.epoch, e.transaction, e.id, e.tenant_id
                FROM audit_entry e WHERE \(Self.isBefore(position))
                ORDER BY e.epoch DESC, e.transaction DESC, e.id DESC LIMIT \(Self.lookMax)
            )
            SELECT l.epoch AS last_epoch, l.transaction::text AS last_transaction,
                l.id AS last_id, p.*
            FROM (SELECT count(*) AS count FROM look) n
            LEFT JOIN LATERAL (
                SELECT k.epoch, k.transaction, k.id FROM look k
                ORDER BY k.epoch, k.transaction, k.id LIMIT (n.count = \(Self.lookMax))::int
            ) l ON true
            LEFT JOIN (
                SELECT \(Self.columns)
                FROM (
                    SELECT k.epoch, k.transaction, k.id FROM look k
                    WHERE k.tenant_id = \(tenant.uuid)
                    ORDER BY k.epoch DESC, k.transaction DESC, k.id DESC LIMIT \(limit)
                ) k
                CROSS JOIN LATERAL (
                    SELECT x.* FROM audit_entry x
                    WHERE x.epoch = k.epoch AND x.transaction = k.transaction AND x.id = k.id
                    LIMIT 1
                ) e
            ) p ON true
            ORDER BY p.epoch DESC, p.transaction::xid8 DESC, p.id DESC
            """
        )
        var records: [AuditRecord] = []
        for row in rows where try row.decodeIfPresent("id", as: Int64.self) != nil {
            records.append(try AuditRecord(row))
        }
        if records.count == limit {
            return AuditPage(records: records, next: records.last?.position)
        }
        guard let row = rows.first,
            let epoch = try row.decodeIfPresent("last_epoch", as: Int32.self)
        else { return AuditPage(records: records, next: nil) }
        let end = AuditRecord.Position(
            epoch: epoch,
            transaction: try row.decode("last_transaction"),
            id: try row.decode("last_id")
        )
        return AuditPage(records: records, next: end)
    }
}
