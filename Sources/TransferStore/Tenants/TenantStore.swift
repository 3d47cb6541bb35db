import Postgres
package import TransferModel

/// Tenants, their limits and certificate authorities.
package struct TenantStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension TenantStore {
    /// Returns the tenant with its limits and the state of its tasks.
    ///
    /// - Throws: ``StoreError/defect(_:)`` when there is none, because tenants are not removed.
    package func tenant(_ id: TenantID) async throws(StoreError) -> Tenant {
        let rows = try await database.run(
            """
            SELECT n.name, n.outstanding_tasks_max, n.running_tasks_max,
                n.total_bytes_per_second_max, n.created_at, c.*
            FROM tenant n \(CountStore.joinCounts(ofTenant: "n.id")) WHERE n.id = \(id.uuid)
            """
        )
        guard let row = rows.first else { throw StoreError(decoding: "no tenant") }
        return Tenant(
            name: try row.decode("name"),
            outstandingTasksMax: try row.decodeIfPresent("outstanding_tasks_max"),
            runningTasksMax: try row.decodeIfPresent("running_tasks_max", as: Int32.self)
                .map(Int.init),
            totalBytesPerSecondMax: try row.decodeIfPresent("total_bytes_per_second_max"),
            taskCounts: try TaskCounts(row),
            createdAt: try row.decode("created_at")
        )
    }

    /// Changes limits of a tenant, all at once.
    ///
    /// - Returns: false when there is no tenant of that name.
    package func limitTenant(
        named name: String,
        changes: TenantLimitChanges
    ) async throws(StoreError) -> Bool {
        let runningTasksMax = (changes.runningTasksMax ?? nil).map { Int32(clamping: $0) }
        let rows = try await database.run([
            """
            UPDATE tenant SET
                total_bytes_per_second_max = CASE WHEN \(changes.totalBytesPerSecondMax != nil)
                    THEN \(changes.totalBytesPerSecondMax ?? nil)
                    ELSE total_bytes_per_second_max END,
                outstanding_tasks_max = CASE WHEN \(changes.outstandingTasksMax != nil)
                    THEN \(changes.outstandingTasksMax ?? nil) ELSE outstanding_tasks_max END,
                running_tasks_max = CASE WHEN \(changes.runningTasksMax != nil)
                    THEN \(runningTasksMax) ELSE running_tasks_max END
            WHERE name = \(name)
            """,
            WorkerStore.countLimitChange,
        ])
        return rows[0].affectedCount == 1
    }
}
