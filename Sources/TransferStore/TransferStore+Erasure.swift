import Postgres
package import TransferModel

/// What an ended task leaves in its tenant's container.
package struct TaskRemains: Sendable {
    package let task: TaskID
    package let tenant: TenantID
    /// Relative to the tenant's container; a file that a client gave a name is none of them.
    package let paths: [String]
}

extension TransferStore {
    /// How long what is to be erased waits for subscribers that do not answer.
    private static let erasureDelayMax: Duration = .seconds(3600)
    /// Sessions and tasks looked after by one call.
    private static let erasureSessionsMax = 100
    package static let erasureTasksMax = 1000

    /// Begins the erasure of invalidated ephemeral sessions that have nothing left to do or tell.
    ///
    /// What their tasks left for others is given up first, so that nobody looks for a file whose
    /// task is gone.
    ///
    /// - Returns: ended tasks whose files are to be removed, at most ``erasureTasksMax``.
    package func tasksToErase() async throws(StoreError) -> [TaskRemains] {
        let rows = try await run([
            """
            WITH \(Self.erasable),
            gone AS (
                DELETE FROM resume_data r USING task t, erasable e
                WHERE t.session_id = e.session_id AND r.source_task_id = t.id
                RETURNING r.part_fence, r.source_task_id
            )
            INSERT INTO abandoned_part (fence, task_id)
            SELECT part_fence, source_task_id FROM gone ON CONFLICT (fence) DO NOTHING
            """,
            """
            WITH \(Self.erasable)
            SELECT t.id, t.tenant_id, t.upload_is_staged,
                t.kind = 'download' AND t.destination_path IS NULL AS has_result
            FROM erasable e JOIN task t ON t.session_id = e.session_id
            -- 1. A worker that still has to stop, and whoever removes a part file, need the row;
            -- 2. so does a task elsewhere that goes on with a part file from here.
            WHERE NOT EXISTS (SELECT 1 FROM revocation r WHERE r.task_id = t.id)
                AND NOT EXISTS (SELECT 1 FROM abandoned_part b
                    WHERE b.task_id = t.id OR b.source_task_id = t.id)
                AND NOT EXISTS (SELECT 1 FROM partial x WHERE x.source_task_id = t.id)
            ORDER BY t.id LIMIT \(Self.erasureTasksMax)
            """,
        ])
        return try decoding { () throws(PostgresError) in
            try rows[1].map { row throws(PostgresError) in try TaskRemains(row) }
        }
    }

    /// Erases tasks whose files are gone, and the sessions that have no task any more.
    package func erase(_ tasks: [TaskID]) async throws(StoreError) {
        let ids = tasks.map(\.uuid)
        _ = try await run([
            "DELETE FROM attempt_log WHERE task_id = ANY (\(ids))",
            "DELETE FROM client_string_change WHERE task_id = ANY (\(ids))",
            "DELETE FROM task_owner WHERE task_id = ANY (\(ids))",
            """
            WITH gone AS (
                DELETE FROM outcome WHERE task_id = ANY (\(ids))
                RETURNING session_id, state, bytes_received, bytes_sent
            )
            \(Self.recordMoves(Self.forgotten("gone")))
            """,
            "DELETE FROM task WHERE id = ANY (\(ids))",
            // So that nothing is left to fold of a session that is gone.
            Self.fold,
            """
            WITH \(Self.erasable),
            empty AS (
                SELECT session_id FROM erasable e
                WHERE NOT EXISTS (SELECT 1 FROM task t WHERE t.session_id = e.session_id)
                    -- Where another instance was folding, the session waits for the next call.
                    AND NOT EXISTS (
                        SELECT 1 FROM task_move m JOIN session s ON s.tenant_id = m.tenant_id
                        WHERE s.id = e.session_id AND m.session_id = e.session_id)
            ),
            count_row AS (
                DELETE FROM session_task_count c USING empty e WHERE c.session_id = e.session_id
            ),
            event_row AS (
                DELETE FROM event v USING empty e WHERE v.session_id = e.session_id
            ),
            delivery_row AS (
                DELETE FROM delivery d USING empty e, session s, subscription b
                WHERE s.id = e.session_id AND b.tenant_id = s.tenant_id
                    AND d.subscription_id = b.id AND d.session_id = e.session_id
            ),
            log_row AS (
                DELETE FROM delivery_log l USING empty e, session s, subscription b
                WHERE s.id = e.session_id AND b.tenant_id = s.tenant_id
                    AND l.subscription_id = b.id AND l.session_id = e.session_id
                RETURNING l.id
            ),
            attempt_row AS (
                DELETE FROM delivery_attempt a USING log_row l WHERE a.delivery_id = l.id
            ),
            expired_row AS (
                DELETE FROM expired_task y USING empty e WHERE y.session_id = e.session_id
            ),
            progress_row AS (
                DELETE FROM session_progress p USING empty e WHERE p.session_id = e.session_id
            ),
            session_row AS (
                DELETE FROM session s USING empty e WHERE s.id = e.session_id
            )
            DELETE FROM erasure x USING empty e WHERE x.session_id = e.session_id
            """,
        ])
    }

    /// Sessions that can be erased now: all their tasks have ended, and their subscribers were told
    /// or have had their time.
    private static let erasable: Query = """
        erasable AS MATERIALIZED (
            SELECT x.session_id
            FROM erasure x
            JOIN session s ON s.id = x.session_id
            JOIN session_progress p ON p.session_id = x.session_id
            WHERE p.outstanding = 0 AND (
                x.begun_at < now() - \(erasureDelayMax.milliseconds) * interval '1 ms'
                OR NOT EXISTS (
                    SELECT 1 FROM subscription b JOIN delivery d ON d.subscription_id = b.id
                    WHERE b.tenant_id = s.tenant_id AND b.deleted_at IS NULL
                        AND d.session_id = x.session_id AND d.due_at IS NOT NULL))
            ORDER BY x.session_id LIMIT \(erasureSessionsMax)
        )
        """

    /// Hides what waits for its erasure; of a task `t`.
    static let isNotErased: Query = """
        NOT EXISTS (SELECT 1 FROM erasure x WHERE x.session_id = t.session_id)
        """
}

extension TaskRemains {
    init(_ row: Row) throws(PostgresError) {
        task = try row.task("id")
        tenant = try row.tenant("tenant_id")
        var paths: [String] = []
        if try row.decode("has_result") {
            paths.append(ResultLocation.path(of: task, destination: nil))
        }
        if try row.decode("upload_is_staged") { paths.append(ResultLocation.bodyPath(of: task)) }
        self.paths = paths
    }
}
