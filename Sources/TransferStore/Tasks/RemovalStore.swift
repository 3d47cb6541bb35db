import Postgres
package import TransferModel

/// The removal of single ended tasks by their client.
package struct RemovalStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension RemovalStore {
    /// Gives up what an ended task left for other attempts, and returns the files to remove before
    /// ``removeTask(_:parts:)``.
    package func beginRemoval(
        tenant: TenantID,
        id: TaskID
    ) async throws(StoreError) -> RemovalResult {
        let others: Query = """
            ARRAY(
                SELECT y.id FROM resume_data y
                WHERE y.source_task_id = \(id.uuid) AND y.id <> y.source_task_id)
            """
        let rows = try await database.run([
            // A submission that takes the task's bytes along is over by the last statements, which
            // then see who has them. It locks them before its session, which may be the task's; a
            // retry locks the session before what the task left for itself. What others got in
            // between is found the second time.
            Self.lockResumeData(others),
            ControlStore.lockSession(of: id, tenant),
            Self.lockResumeData("ARRAY[\(id.uuid)] || \(others)"),
            """
            WITH target AS MATERIALIZED (
                SELECT t.id, t.tenant_id, t.upload_is_staged, o.part_fence, o.finished_at,
                    o.task_id IS NOT NULL AS is_ended,
                    -- A worker has to stop, or another task takes over bytes at this one's place.
                    EXISTS (SELECT 1 FROM revocation x WHERE x.task_id = t.id)
                        OR EXISTS (SELECT 1 FROM partial x WHERE x.source_task_id = t.id)
                        OR EXISTS (SELECT 1 FROM abandoned_part x WHERE x.source_task_id = t.id)
                        AS is_in_use
                FROM task t LEFT JOIN outcome o ON o.task_id = ANY (ARRAY[t.id])
                WHERE t.id = \(id.uuid) AND t.tenant_id = \(tenant.uuid)
                    AND \(ErasureStore.isNotErased)
            ),
            given_up AS (
                DELETE FROM resume_data r WHERE r.id = ANY (ARRAY(
                    SELECT t.id FROM target t WHERE t.is_ended AND NOT t.is_in_use
                    UNION ALL
                    SELECT y.id FROM resume_data y
                    WHERE y.source_task_id = \(id.uuid) AND y.id <> y.source_task_id
                        AND EXISTS (SELECT 1 FROM target t WHERE t.is_ended AND NOT t.is_in_use)))
                RETURNING r.part_fence, nullif(r.source_task_id, \(id.uuid)) AS source_task_id
            ),
            abandoned_row AS (
                INSERT INTO abandoned_part (fence, task_id, source_task_id)
                SELECT part_fence, \(id.uuid), source_task_id FROM given_up
                ON CONFLICT (fence) DO NOTHING
            )
            SELECT * FROM target
            """,
            PartStore.selectAbandoned(where: "b.task_id = \(id.uuid)"),
        ])
        guard let row = rows[3].first else { return .unknownTask }
        guard try row.decode("is_ended") else { return .notEnded }
        guard try !row.decode("is_in_use", as: Bool.self) else { return .inUse }
        let parts = try rows[4].map { row throws(StoreError) in try AbandonedPart(row) }
        return .removable(try TaskRemains(row), parts: parts)
    }

    /// Returns the statement that locks the resume data of an array of identifiers.
    private static func lockResumeData(_ ids: Query) -> Query {
        "SELECT 1 FROM resume_data r WHERE r.id = ANY (\(ids)) ORDER BY r.id FOR UPDATE"
    }

    /// Removes an ended task whose files are gone; its events stay readable.
    ///
    /// - Returns: false when the task is still there, because it was retried meanwhile.
    package func removeTask(
        _ remains: TaskRemains,
        parts: [AbandonedPart]
    ) async throws(StoreError) -> Bool {
        try await PartStore(database).forgetAbandonedParts(parts.map(\.fence))
        try await RetentionStore(database).expire([
            (task: remains.task, finishedAt: remains.finishedAt)
        ])
        let rows = try await database.run("SELECT 1 FROM task WHERE id = \(remains.task.uuid)")
        return rows.isEmpty
    }
}
