import Postgres
package import TransferModel

/// The bytes that tenants keep, and those that are under way.
extension TenantStore {
    /// Returns the number of bytes that a tenant keeps and has under way.
    package func storage(of tenant: TenantID) async throws(StoreError) -> TenantStorage {
        let rows = try await database.run(
            """
            SELECT (\(Self.storedBytes(of: "n.id")))::bigint AS stored_bytes,
                coalesce((SELECT u.bytes FROM (\(Self.running)) u WHERE u.tenant_id = n.id), 0)
                    AS in_flight_bytes
            FROM tenant n WHERE n.id = \(tenant.uuid)
            """
        )
        guard let row = rows.first else { throw StoreError(decoding: "no tenant") }
        return TenantStorage(
            storedBytes: try row.decode("stored_bytes"),
            inFlightBytes: try row.decode("in_flight_bytes")
        )
    }

    /// The number of bytes that a running task counts for while nobody knows how many it has.
    static let unknownBytes: Int64 = 1 << 20

    /// Selects the number of bytes that a tenant keeps: the results of completed tasks, as the exact
    /// counts have them, and bodies for uploads.
    static func storedBytes(of tenant: Query) -> Query {
        """
        SELECT coalesce((
            SELECT sum(k.bytes_received) FROM (\(CountStore.selectCounts(ofTenant: tenant))) k
            WHERE k.state = 'completed'
        ), 0)::bigint + coalesce((
            SELECT sum(b.bytes) FROM staged_body b WHERE b.tenant_id = \(tenant)
        ), 0)::bigint
        """
    }

    /// Selects `(tenant_id, tasks, bytes)` of the running tasks of each tenant; the bytes are with
    /// those of files that only lack their name.
    ///
    /// Counted from the attempts, which are fewer than the sessions a tenant may have, and once for
    /// all tenants.
    static let running: Query = """
        SELECT (SELECT s.tenant_id FROM session s WHERE s.id = a.session_id) AS tenant_id,
            sum(a.tasks)::bigint AS tasks, sum(a.bytes)::bigint AS bytes
        FROM (
            SELECT session_id, 1 AS tasks, CASE
                WHEN bytes_to_send IS NOT NULL
                    THEN bytes_to_send + coalesce(bytes_expected, bytes_received)
                ELSE coalesce(bytes_expected, greatest(bytes_received, \(unknownBytes)))
                END AS bytes
            FROM attempt
            UNION ALL SELECT session_id, 0, bytes_received FROM pending_rename
        ) a GROUP BY 1
        """
}
