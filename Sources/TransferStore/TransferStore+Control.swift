import Postgres
package import TransferModel

extension TransferStore {
    /// Tries of a change that keeps meeting the task on its way between two tables.
    private static let triesMax = 20
    /// Invalidated sessions looked after by one call.
    private static let invalidationsMax = 100

    /// Cancels a task that is not terminal and not being published.
    ///
    /// Linearizable against completion: a worker moves the attempt's row before it publishes, so
    /// that either this call finds the row and the worker does not, or the reverse.
    ///
    /// - Returns: the task as it then is, or nil when the tenant has no such task.
    package func cancelTask(
        tenant: TenantID,
        id: TaskID
    ) async throws(StoreError) -> TransferTask? {
        try await change(tenant: tenant, id: id, where: { !$0.isTerminal }) {
            """
            WITH target AS (
                SELECT id, session_id, generation, lane, priority_rank FROM task
                WHERE id = \(id.uuid) AND tenant_id = \(tenant.uuid)
            ),
            \(Self.cancelTargets)
            """
        }
    }

    /// Starts a suspended task, or schedules it for its `earliest_begin_at`.
    ///
    /// - Returns: the task as it then is, or nil when the tenant has no such task.
    package func resumeTask(
        tenant: TenantID,
        id: TaskID
    ) async throws(StoreError) -> TransferTask? {
        try await change(tenant: tenant, id: id, where: { $0 == .suspended }) {
            """
            WITH target AS (
                SELECT id, session_id, lane, priority_rank, earliest_begin_at, CASE
                    WHEN earliest_begin_at > now() THEN 'scheduled'::task_state
                    ELSE 'queued'::task_state END AS state
                FROM task WHERE id = \(id.uuid) AND tenant_id = \(tenant.uuid)
            ),
            gone AS (
                DELETE FROM held h USING target t WHERE h.task_id = t.id RETURNING t.*
            ),
            delayed_row AS (
                INSERT INTO delayed (task_id, due_at, attempt, lane, priority_rank)
                SELECT id, earliest_begin_at, 0, lane, priority_rank
                FROM gone WHERE state = 'scheduled'
            ),
            ready_row AS (
                INSERT INTO ready (lane, priority_rank, task_id, attempt)
                SELECT lane, priority_rank, id, 0 FROM gone WHERE state = 'queued'
            ),
            happening AS (
                SELECT session_id, 1 AS place, 'task.resumed' AS kind, false AS ends,
                    id AS task_id, state AS task_state, 0::smallint AS attempt,
                    0::bigint AS bytes_received, NULL::jsonb AS failure
                FROM gone
            ),
            \(Self.recordHappenings),
            \(Self.wake)
            SELECT id FROM gone
            """
        }
    }

    /// Runs a change until it takes or the task is in no state to take it.
    ///
    /// A statement reads one snapshot: a row that another transaction is just moving is in neither
    /// place for it. The next try sees it where it arrived.
    private func change(
        tenant: TenantID,
        id: TaskID,
        where applies: (TransferState) -> Bool,
        by query: () -> Query
    ) async throws(StoreError) -> TransferTask? {
        for _ in 0..<Self.triesMax {
            if try await !run(query()).isEmpty { break }
            guard let task = try await task(tenant: tenant, id: id) else { return nil }
            guard applies(task.state), try await !isBeingPublished(id) else { return task }
        }
        return try await task(tenant: tenant, id: id)
    }

    private func isBeingPublished(_ id: TaskID) async throws(StoreError) -> Bool {
        let rows = try await run("SELECT 1 FROM publication WHERE task_id = \(id.uuid)")
        return !rows.isEmpty
    }

    /// Goes on with invalidations that were begun, by whichever instance.
    package func continueInvalidations() async throws(StoreError) {
        let rows = try await run(
            "SELECT session_id FROM invalidation ORDER BY session_id LIMIT \(Self.invalidationsMax)"
        )
        let sessions = try decoding { () throws(PostgresError) in
            try rows.map { row throws(PostgresError) in try row.session("session_id") }
        }
        for session in sessions { try await cancelAll(of: session) }
    }

    /// Cancels what is outstanding of an invalidated session.
    ///
    /// What is being published is left for the next call; when nothing is left, the invalidation
    /// is forgotten.
    func cancelAll(of session: SessionID) async throws(StoreError) {
        for _ in 0..<Self.triesMax {
            let rows = try await run([
                """
                WITH target AS (
                    SELECT t.id, t.session_id, t.generation, t.lane, t.priority_rank FROM task t
                    WHERE t.session_id = \(session.uuid)
                        AND NOT EXISTS (SELECT 1 FROM outcome o WHERE o.task_id = t.id)
                ),
                \(Self.cancelTargets)
                """,
                """
                DELETE FROM invalidation i USING session_progress p
                WHERE i.session_id = \(session.uuid) AND p.session_id = i.session_id
                    AND p.outstanding = 0
                """,
                """
                SELECT 1 FROM session_progress p
                WHERE p.session_id = \(session.uuid) AND p.outstanding > (
                    SELECT count(*) FROM publication b WHERE b.session_id = p.session_id)
                """,
            ])
            if rows[2].isEmpty { return }
        }
    }

    /// Ends the tasks of `target` wherever their hot row is; an attempt's worker is told to stop.
    private static let cancelTargets: Query = """
        from_held AS (
            DELETE FROM held x USING target t WHERE x.task_id = t.id RETURNING x.task_id
        ),
        from_delayed AS (
            DELETE FROM delayed x USING target t WHERE x.task_id = t.id
            RETURNING x.task_id, x.attempt
        ),
        from_ready AS (
            DELETE FROM ready x USING target t
            WHERE x.lane = t.lane AND x.priority_rank = t.priority_rank AND x.task_id = t.id
            RETURNING x.task_id, x.attempt
        ),
        from_attempt AS (
            DELETE FROM attempt x USING target t WHERE x.task_id = t.id
            RETURNING x.task_id, x.number, x.bytes_received, x.worker, x.fence
        ),
        gone AS (
            SELECT task_id, 0::smallint AS attempt, 0::bigint AS bytes_received FROM from_held
            UNION ALL SELECT task_id, attempt, 0 FROM from_delayed
            UNION ALL SELECT task_id, attempt, 0 FROM from_ready
            UNION ALL SELECT task_id, number, bytes_received FROM from_attempt
        ),
        revocation_row AS (
            INSERT INTO revocation (worker, fence, task_id)
            SELECT worker, fence, task_id FROM from_attempt
        ),
        outcome_row AS (
            INSERT INTO outcome (
                task_id, session_id, generation, state, attempt, bytes_received)
            SELECT t.id, t.session_id, t.generation, 'cancelled', g.attempt, g.bytes_received
            FROM gone g JOIN target t ON t.id = g.task_id
        ),
        happening AS (
            SELECT t.session_id, row_number() OVER (ORDER BY t.id) AS place,
                'task.cancelled' AS kind, true AS ends, t.id AS task_id,
                'cancelled'::task_state AS task_state, g.attempt, g.bytes_received,
                NULL::jsonb AS failure
            FROM gone g JOIN target t ON t.id = g.task_id
        ),
        \(recordHappenings),
        \(wake)
        SELECT task_id FROM gone
        """
}
