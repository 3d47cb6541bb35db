import Postgres
package import TransferModel

/// The bytes that clients bring for uploads, as far as a tenant may keep them.
package struct StagedBodyStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension StagedBodyStore {
    /// The most rows that one call of ``forget(_:)`` looks at beside those it is given.
    private static let leftoversMax = 1000

    /// Sets the number of bytes that the body of an upload has or may come to have.
    ///
    /// The tenant's row lock orders this after claims and other reservations of a tenant with a
    /// limit, so that the limit holds over all instances.
    ///
    /// - Throws: ``StoreError/quotaExceeded(_:)`` if the tenant may not keep so many.
    package func reserve(
        _ bytes: Int64,
        for task: TaskID,
        of tenant: TenantID
    ) async throws(StoreError) {
        let rows = try await database.run([
            """
            SELECT FROM tenant n WHERE n.id = \(tenant.uuid) AND n.stored_bytes_max IS NOT NULL
            FOR NO KEY UPDATE
            """,
            """
            WITH room AS MATERIALIZED (
                SELECT n.stored_bytes_max, n.stored_bytes_max IS NULL
                    OR (\(TenantStore.storedBytes(of: "n.id"))) + \(bytes) - coalesce((
                        SELECT b.bytes FROM staged_body b WHERE b.task_id = \(task.uuid)), 0)
                        <= n.stored_bytes_max AS is_there
                FROM tenant n WHERE n.id = \(tenant.uuid)
            ),
            body AS (
                INSERT INTO staged_body (task_id, tenant_id, bytes)
                SELECT \(task.uuid), \(tenant.uuid), \(bytes) FROM room r WHERE r.is_there
                ON CONFLICT (task_id) DO UPDATE SET bytes = excluded.bytes
            )
            SELECT r.is_there, r.stored_bytes_max FROM room r
            """,
        ])
        guard let row = rows[1].first, try !row.decode("is_there", as: Bool.self) else { return }
        throw .quotaExceeded(Quota(.storedBytes, maximum: try row.decode("stored_bytes_max")))
    }

    /// Removes what is known of bodies whose files are gone, and of some whose tasks are.
    package func forget(_ tasks: [TaskID]) async throws(StoreError) {
        _ = try await database.run([
            "DELETE FROM staged_body WHERE task_id = ANY (\(tasks.map(\.uuid)))",
            """
            DELETE FROM staged_body WHERE task_id = ANY (ARRAY(
                SELECT b.task_id FROM (
                    SELECT task_id FROM staged_body ORDER BY task_id LIMIT \(Self.leftoversMax)
                ) b WHERE NOT EXISTS (SELECT 1 FROM task t WHERE t.id = b.task_id)))
            """,
        ])
    }
}
