import Postgres
package import TransferModel

/// The look-up of files found on disk in the database.
extension VerificationStore {
    /// Returns those of the tenants that exist.
    package func tenants(among tenants: [TenantID]) async throws(StoreError) -> Set<TenantID> {
        let rows = try await database.run(
            "SELECT id FROM tenant WHERE id = ANY (\(tenants.map(\.uuid)))"
        )
        return Set(try rows.map { row throws(StoreError) in try row.tenant("id") })
    }

    /// Returns those of the part files that any row names: a task writes, continues, renames or
    /// will remove them, or one is the result of its task, which is among `tasks`.
    ///
    /// This is one statement, so that a row that is moving between tables is seen in one of them.
    package func namedParts(
        among parts: [Fence],
        of tasks: [TaskID]
    ) async throws(StoreError) -> Set<Fence> {
        guard !parts.isEmpty else { return [] }
        let fences = parts.map(\.rawValue)
        let workers = Array(Set(parts.map(\.incarnation)))
        let rows = try await database.run(
            """
            SELECT fence FROM running_attempt
            WHERE worker = ANY (\(workers)) AND fence = ANY (\(fences))
            UNION SELECT part_fence FROM pending_rename WHERE part_fence = ANY (\(fences))
            UNION SELECT part_fence FROM partial WHERE part_fence = ANY (\(fences))
            UNION SELECT part_fence FROM resume_data WHERE part_fence = ANY (\(fences))
            UNION SELECT fence FROM revocation WHERE fence = ANY (\(fences))
            UNION SELECT fence FROM abandoned_part WHERE fence = ANY (\(fences))
            UNION \(Self.selectResults(tasks))
            """
        )
        return Set(try rows.map { row throws(StoreError) in try row.fence("fence") })
    }

    /// Selects the part files that are the results of these tasks.
    static func selectResults(_ tasks: [TaskID]) -> Query {
        """
        SELECT part_fence FROM outcome
        WHERE task_id = ANY (\(tasks.map(\.uuid))) AND part_fence IS NOT NULL
        """
    }

    /// Returns those of the tasks that exist.
    package func tasks(among tasks: [TaskID]) async throws(StoreError) -> Set<TaskID> {
        guard !tasks.isEmpty else { return [] }
        let rows = try await database.run(
            "SELECT id FROM task WHERE id = ANY (\(tasks.map(\.uuid)))"
        )
        return Set(try rows.map { row throws(StoreError) in try row.task("id") })
    }

    /// Returns those of the tasks that exist and have not ended.
    package func outstandingTasks(among tasks: [TaskID]) async throws(StoreError) -> Set<TaskID> {
        guard !tasks.isEmpty else { return [] }
        let rows = try await database.run(
            """
            SELECT t.id FROM task t
            WHERE t.id = ANY (\(tasks.map(\.uuid)))
                AND NOT EXISTS (SELECT 1 FROM outcome o WHERE o.task_id = ANY (ARRAY[t.id]))
            """
        )
        return Set(try rows.map { row throws(StoreError) in try row.task("id") })
    }
}
