import Postgres
package import TransferModel

/// The return of ended tasks to the queue by their clients.
package struct RetryStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension RetryStore {
    /// The number of tries of a retry that finds the task moving between two tables.
    private static let triesMax = 20

    /// Returns a failed or cancelled task to the queue, as the same task with a new count of
    /// attempts.
    ///
    /// A drained session begins a generation with it. Bytes that a failure has left are resumed. An
    /// upload whose bytes were brought by its client needs `hasBody`: that they are still there.
    ///
    /// - Throws: ``StoreError/quotaExceeded(_:)`` if the tenant may have no more outstanding tasks.
    package func retryTask(
        tenant: TenantID,
        id: TaskID,
        hasBody: Bool
    ) async throws(StoreError) -> RetryTaskResult {
        for _ in 0..<Self.triesMax {
            let row = try await database.run(
                """
                WITH target AS MATERIALIZED (
                    SELECT \(Self.columns)
                    FROM task t JOIN session s ON s.id = ANY (ARRAY[t.session_id])
                    WHERE t.id = \(id.uuid) AND t.tenant_id = \(tenant.uuid)
                        AND CASE WHEN t.upload_is_staged THEN \(hasBody) AND \(Self.hadBody)
                            ELSE true END
                ),
                \(targets(count: 1))
                SELECT (SELECT count(*) FROM gone) AS retried, (SELECT is_full FROM queue) AS is_full,
                    (SELECT q.maximum FROM quota q WHERE q.is_exceeded LIMIT 1) AS quota_max
                """
            ).first
            guard let task = try await TaskStore(database).task(tenant: tenant, id: id) else {
                return .unknownTask
            }
            let isRetried = try row.map { row throws(StoreError) in
                try row.decode("retried", as: Int64.self) > 0
            }
            switch task.state {
            case _ where isRetried ?? false: return .answered(task)
            case .completed: return .completed
            case .failed, .cancelled:
                if let refusal = try await refusal(of: task, hasBody: hasBody) { return refusal }
            case .suspended, .scheduled, .waitingToBegin, .queued, .running, .waitingForRetry,
                .waitingForConnectivity, .waitingForAuthentication:
                return .answered(task)
            }
            if let maximum = try row?.decodeIfPresent("quota_max", as: Int64.self) {
                throw .quotaExceeded(Quota(.outstandingTasks, maximum: maximum))
            }
            if try row?.decode("is_full") ?? false { return .queueFull }
        }
        throw .unavailable(PostgresError(decoding: "the task never stood still"))
    }

    /// Returns why a failed or cancelled task cannot be retried; asked only when it was not.
    private func refusal(
        of task: TransferTask,
        hasBody: Bool
    ) async throws(StoreError) -> RetryTaskResult? {
        let rows = try await database.run(
            """
            SELECT p.is_invalidated, p.is_finishing, p.is_force_quit,
                t.upload_is_staged AND NOT (\(hasBody) AND \(Self.hadBody)) AS is_body_gone
            FROM task t JOIN session_progress p ON p.session_id = ANY (ARRAY[t.session_id])
            WHERE t.id = \(task.id.uuid)
            """
        )
        guard let row = rows.first else { return .unknownTask }
        if try row.decode("is_invalidated") { return .sessionEnded }
        if try row.decode("is_finishing") { return .sessionFinishing }
        if try row.decode("is_force_quit") { return .clientForceQuit(task.client) }
        return try row.decode("is_body_gone") ? .bodyGone : nil
    }

    /// Whether all bytes of an upload `t` had come before it ended: an attempt was made with them.
    private static let hadBody: Query = """
        coalesce((SELECT o.attempt > 0 FROM outcome o WHERE o.task_id = t.id), false)
        """

    /// The columns of `target` for ``targets(count:)``, of a task `t` in its session `s`.
    static let columns: Query = """
        t.id, t.tenant_id, t.session_id, t.host_key, t.priority_rank, t.earliest_begin_at,
        CASE WHEN t.earliest_begin_at > now() THEN 'scheduled'::task_state
            ELSE 'queued'::task_state END AS state,
        \(Fragment.asksToBegin(task: "t.options", session: "s.options")) AS asks_to_begin
        """

    /// Moves the failed and cancelled tasks of `target`, at most `count`, back to where they wait
    /// for their turn, provided that their sessions accept tasks and there is room.
    ///
    /// Where nothing was outstanding, this begins a generation. In a generation that continues, the
    /// previous end no longer counts; the end of a generation that is over is kept for its last
    /// event. Offers `gone(task_id)`, those that were moved, and `queue` and `quota`.
    func targets(count: Int64) -> Query {
        """
        batch AS (SELECT tenant_id, count(*) AS count FROM target GROUP BY tenant_id),
        \(database.submissionBounds(count: count)),
        -- Before any outcome is removed, in one order everywhere, as those who write events do.
        locked AS MATERIALIZED (
            SELECT p.session_id, p.generation FROM session_progress p
            WHERE p.session_id = ANY (ARRAY(SELECT DISTINCT t.session_id FROM target t))
                AND NOT p.is_invalidated AND NOT p.is_finishing AND NOT p.is_force_quit
                AND NOT (SELECT is_full FROM queue)
                AND NOT EXISTS (SELECT 1 FROM quota WHERE is_exceeded)
            ORDER BY p.session_id FOR UPDATE
        ),
        gone AS (
            DELETE FROM outcome o
            WHERE o.task_id = ANY (ARRAY(
                    SELECT t.id FROM target t
                    WHERE t.session_id IN (SELECT l.session_id FROM locked l)))
                -- Within an expression: the partial index of such states is not for what is found
                -- by its key, and a plan made for few rows would take it.
                AND coalesce(o.state <> 'completed', false)
            RETURNING o.task_id, o.session_id, o.generation, o.state, o.bytes_received,
                o.bytes_sent, o.failure, o.fence, o.attempt, o.started_at, o.finished_at,
                o.resumed_at_offset, o.measurements
        ),
        -- The task no longer has an end that tells of its last attempt.
        log_row AS (
            INSERT INTO attempt_log (
                task_id, fence, number, outcome, started_at, ended_at, bytes_received,
                resumed_at_offset, failure, bytes_sent, measurements)
            SELECT task_id, fence, attempt, state::text, started_at, finished_at,
                \(TaskStore.ownBytes), resumed_at_offset, failure, bytes_sent, measurements
            FROM gone WHERE fence IS NOT NULL
        ),
        change AS (
            SELECT g.session_id, count(*) AS tasks,
                count(*) FILTER (
                    WHERE g.generation = l.generation AND g.state = 'failed') AS failed,
                count(*) FILTER (
                    WHERE g.generation = l.generation AND g.state = 'cancelled') AS cancelled
            FROM gone g JOIN locked l USING (session_id) GROUP BY g.session_id
        ),
        counter AS (
            UPDATE session_progress p SET
                generation = p.generation + (p.outstanding = 0)::int,
                outstanding = p.outstanding + c.tasks,
                completed = CASE p.outstanding WHEN 0 THEN 0 ELSE p.completed END,
                failed = CASE p.outstanding WHEN 0 THEN 0 ELSE p.failed - c.failed END,
                cancelled = CASE p.outstanding WHEN 0 THEN 0 ELSE p.cancelled - c.cancelled END,
                last_sequence = p.last_sequence + c.tasks,
                is_pending_told = false
            FROM change c WHERE p.session_id = ANY (ARRAY[c.session_id])
            RETURNING p.session_id, p.generation, p.last_sequence - c.tasks AS base,
                clock_timestamp() AS occurred_at
        ),
        -- Back to its own URL; the row stays, for the bytes may be a mirror's.
        mirror_row AS (
            UPDATE task_mirror m SET rank = 0, given_up = 0, is_offline = true, rests_until = NULL
            WHERE m.task_id = ANY (ARRAY(SELECT g.task_id FROM gone g))
            RETURNING m.task_id, m.url_host_key
        ),
        back AS MATERIALIZED (
            SELECT g.task_id, g.session_id, t.priority_rank, t.state, t.earliest_begin_at,
                t.asks_to_begin, coalesce(m.url_host_key, t.host_key) AS host_key
            FROM gone g JOIN target t ON t.id = g.task_id
            LEFT JOIN mirror_row m ON m.task_id = g.task_id
        ),
        generation_row AS (
            UPDATE task t SET generation = x.generation, host_key = x.host_key
            FROM (
                SELECT b.task_id, b.host_key, c.generation FROM back b JOIN counter c USING (session_id)
            ) x
            -- By its key alone: beside the session's, a plan may read all tasks of that.
            WHERE t.id = ANY (ARRAY[x.task_id])
                AND (t.generation <> x.generation OR t.host_key <> x.host_key)
        ),
        failure_row AS (
            INSERT INTO retried_failure (session_id, generation, task_id, failure_code)
            SELECT g.session_id, g.generation, g.task_id, g.failure->>'code'
            FROM gone g JOIN counter c USING (session_id)
            WHERE g.state = 'failed' AND g.generation < c.generation
        ),
        kept AS (
            DELETE FROM resume_data r WHERE r.id = ANY (ARRAY(SELECT g.task_id FROM gone g))
            RETURNING r.id AS task_id, nullif(r.source_task_id, r.id) AS source_task_id,
                \(StoredPart.columns(of: "r"))
        ),
        -- An ended task has no part; one that is there all the same must not stop the retry.
        abandoned_row AS (
            INSERT INTO abandoned_part (fence, task_id, source_task_id)
            \(PartStore.selectReplaced) ON CONFLICT (fence) DO NOTHING
        ),
        partial_row AS (
            INSERT INTO partial (task_id, source_task_id, \(StoredPart.columns))
            SELECT task_id, source_task_id, \(StoredPart.columns) FROM kept
            ON CONFLICT (task_id) DO UPDATE SET source_task_id = excluded.source_task_id,
                (\(StoredPart.columns)) = (\(StoredPart.columns(of: "excluded")))
        ),
        delayed_row AS (
            INSERT INTO delayed (
                task_id, due_at, attempt, host_key, session_id, priority_rank, asks_to_begin)
            SELECT task_id, earliest_begin_at, 0, host_key, session_id, priority_rank, asks_to_begin
            FROM back WHERE state = 'scheduled'
        ),
        ready_row AS (\(ReadyRuns.insert("""
            SELECT host_key, session_id, priority_rank, task_id, 0::smallint, NULL::timestamptz
            FROM back WHERE state = 'queued'
            """))),
        event_row AS (
            INSERT INTO event_run (
                session_id, last_sequence, first_sequence, kind, generation, occurred_at, task_ids,
                task_state)
            SELECT c.session_id, c.base + r.last, c.base + r.last - r.length + 1, 'task.retried',
                c.generation, c.occurred_at, r.task_ids, r.state
            FROM (
                SELECT session_id, state, count(*) AS length,
                    sum(count(*)) OVER (PARTITION BY session_id ORDER BY min(place))::bigint
                        AS last,
                    array_agg(id ORDER BY place) AS task_ids
                FROM (
                    SELECT g.session_id, t.id, t.state, row_number() OVER (
                        PARTITION BY g.session_id ORDER BY t.state, t.id) - 1 AS place
                    FROM gone g JOIN target t ON t.id = g.task_id
                ) h
                GROUP BY session_id, state, place / \(Int64(EventRuns.lengthMax))
            ) r JOIN counter c USING (session_id)
        ),
        move_row AS (\(CountStore.recordMoves("""
            SELECT g.session_id, g.state AS from_state, t.state AS to_state, g.bytes_received,
                g.bytes_sent
            FROM gone g JOIN target t ON t.id = g.task_id
            """))),
        \(Fragment.wake)
        """
    }
}
