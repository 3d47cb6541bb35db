import Postgres
package import TransferModel

/// The audit log of one tenant.
extension AuditStore {
    /// The number of entries that one page looks through.
    package static let lookMax = 10_000

    /// Returns a page of the entries about a tenant, the newest first.
    ///
    /// No index has the entries of a tenant alone, because each change would write it. A page looks
    /// through at most ``lookMax`` entries of all tenants, and may hold fewer than `limit`, or none,
    /// although more follow.
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
