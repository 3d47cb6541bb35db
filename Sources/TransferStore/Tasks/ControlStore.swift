import Postgres
package import TransferModel

/// The control of existing tasks by their clients: suspend, resume, cancel, change.
package struct ControlStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension ControlStore {
    /// The number of tries of a change that keeps finding the task moving between two tables.
    private static let triesMax = 20

    /// Cancels a task that is not terminal and not being published.
    ///
    /// This is linearizable against completion: a worker moves the attempt's row before it
    /// publishes, so either this call finds the row and the worker does not, or the reverse.
    ///
    /// With `resumeData`, the received bytes are kept under that name for another task.
    ///
    /// - Returns: the task as it then is, or nil when the tenant has no such task.
    package func cancelTask(
        tenant: TenantID,
        id: TaskID,
        producing resumeData: ResumeDataID? = nil
    ) async throws(StoreError) -> TransferTask? {
        try await change(tenant: tenant, id: id, where: { !$0.state.isTerminal }) {
            """
            WITH target AS (
                SELECT id, tenant_id, session_id, generation, host_key, priority_rank FROM task
                WHERE id = \(id.uuid) AND tenant_id = \(tenant.uuid)
            ),
            \(Self.cancelTargets(producing: resumeData))
            """
        }
    }

    /// Whether a cancelled task has left resume data of that name that is still unused.
    package func hasResumeData(_ id: ResumeDataID) async throws(StoreError) -> Bool {
        let rows = try await database.run("SELECT 1 FROM resume_data WHERE id = \(id.uuid)")
        return !rows.isEmpty
    }

    /// Takes a task out of the queue or off its worker until it is resumed; the received bytes are
    /// kept.
    ///
    /// This is linearizable against completion, as ``cancelTask(tenant:id:producing:)`` is. A
    /// running request that must not be sent twice continues, because a resumed task would send it
    /// again.
    package func suspendTask(
        tenant: TenantID,
        id: TaskID
    ) async throws(StoreError) -> SuspendTaskResult {
        let task = try await change(
            tenant: tenant,
            id: id,
            where: { $0.state.after(.suspended) != nil }
        ) {
            """
            WITH target AS (
                SELECT t.id, t.session_id, t.host_key, t.priority_rank,
                    \(Fragment.isIdempotent) AS is_idempotent
                FROM task t JOIN session s ON s.id = t.session_id
                WHERE t.id = \(id.uuid) AND t.tenant_id = \(tenant.uuid)
            ),
            from_delayed AS (
                DELETE FROM delayed x USING target t WHERE x.task_id = ANY (ARRAY[t.id])
                RETURNING x.task_id, x.attempt, \(CountStore.state(ofDelayed: "x")) AS state
            ),
            from_ready AS (
                DELETE FROM ready x USING target t
                WHERE x.host_key = ANY (ARRAY[t.host_key]) AND x.session_id = ANY (ARRAY[t.session_id])
                    AND x.priority_rank = ANY (ARRAY[t.priority_rank])
                    AND x.task_id = ANY (ARRAY[t.id])
                RETURNING x.task_id, x.attempt
            ),
            from_asked AS (
                DELETE FROM asked x USING target t WHERE x.task_id = ANY (ARRAY[t.id])
                RETURNING x.task_id, x.attempt, \(CountStore.state(ofAsked: "x")) AS state
            ),
            \(Self.revokeTargets("suspended", if: "t.is_idempotent")),
            gone AS (
                SELECT task_id, attempt, 0::bigint AS bytes_received, state FROM from_delayed
                UNION ALL SELECT task_id, attempt, 0, 'queued' FROM from_ready
                UNION ALL SELECT task_id, attempt, 0, state FROM from_asked
                -- Stopped unharmed, so that the attempt does not count.
                UNION ALL SELECT task_id, number - 1, bytes_received, 'running' FROM from_attempt
            ),
            held_row AS (
                INSERT INTO held (task_id, attempt) SELECT task_id, attempt FROM gone
            ),
            happening AS (
                SELECT t.session_id, 1 AS place, 'task.suspended' AS kind, false AS ends,
                    t.id AS task_id, g.state AS from_state,
                    'suspended'::task_state AS task_state, g.attempt, g.bytes_received,
                    0::bigint AS bytes_sent, NULL::jsonb AS failure
                FROM gone g JOIN target t ON t.id = g.task_id
            ),
            \(Fragment.recordHappenings),
            \(Fragment.wake)
            SELECT task_id FROM gone
            UNION ALL
            SELECT x.task_id FROM attempt x JOIN target t ON t.id = x.task_id
            WHERE NOT t.is_idempotent
            """
        }
        guard let task else { return .unknownTask }
        return try await isInFlight(task) ? .inFlight(task) : .answered(task)
    }

    /// Returns whether a task has an attempt whose request must not be sent twice.
    private func isInFlight(_ task: TransferTask) async throws(StoreError) -> Bool {
        guard task.state == .running else { return false }
        let rows = try await database.run(
            """
            SELECT 1 FROM attempt x JOIN task t ON t.id = x.task_id
            JOIN session s ON s.id = t.session_id
            WHERE x.task_id = \(task.id.uuid) AND NOT \(Fragment.isIdempotent)
            """
        )
        return !rows.isEmpty
    }

    /// Returns those of the tasks whose requests may be sent to an origin twice.
    package func idempotentTasks(among tasks: [TaskID]) async throws(StoreError) -> Set<TaskID> {
        let rows = try await database.run(
            """
            SELECT t.id FROM task t JOIN session s ON s.id = t.session_id
            WHERE t.id = ANY (\(tasks.map(\.uuid))) AND \(Fragment.isIdempotent)
            """
        )
        return Set(try rows.map { row throws(StoreError) in try row.task("id") })
    }

    /// Starts a suspended task, or schedules it for its `earliest_begin_at`.
    ///
    /// - Returns: the task as it then is, or nil when the tenant has no such task.
    package func resumeTask(
        tenant: TenantID,
        id: TaskID
    ) async throws(StoreError) -> TransferTask? {
        try await change(
            tenant: tenant,
            id: id,
            where: { $0.state == .suspended && !$0.awaitsBody }
        ) {
            Self.resume(id, tenant, if: "NOT h.awaits_body")
        }
    }

    /// Records that the body of an upload is complete and durable, which starts the task, unless it
    /// was submitted to be resumed by its client.
    ///
    /// - Returns: the task as it then is, or nil when the tenant has no such task.
    package func completeBody(
        tenant: TenantID,
        id: TaskID
    ) async throws(StoreError) -> TransferTask? {
        _ = try await database.run(
            """
            UPDATE held h SET awaits_body = false FROM task t
            WHERE t.id = \(id.uuid) AND t.tenant_id = \(tenant.uuid) AND h.task_id = t.id
                AND NOT h.autostart
            """
        )
        return try await change(tenant: tenant, id: id, where: \.awaitsBody) {
            Self.resume(id, tenant, if: "h.awaits_body AND h.autostart")
        }
    }

    /// Moves a suspended task whose row `h` is in `held` to where it waits for its turn.
    private static func resume(_ id: TaskID, _ tenant: TenantID, if condition: Query) -> Query {
        """
        WITH target AS (
            SELECT t.id, t.session_id, t.host_key, t.priority_rank, t.earliest_begin_at, CASE
                WHEN t.earliest_begin_at > now() THEN 'scheduled'::task_state
                ELSE 'queued'::task_state END AS state,
                \(Fragment.asksToBegin(task: "t.options", session: "s.options")) AS asks_to_begin
            FROM task t JOIN session s ON s.id = ANY (ARRAY[t.session_id])
            WHERE t.id = \(id.uuid) AND t.tenant_id = \(tenant.uuid)
        ),
        gone AS (
            DELETE FROM held h USING target t WHERE h.task_id = ANY (ARRAY[t.id]) AND \(condition)
            RETURNING t.*, h.attempt
        ),
        delayed_row AS (
            INSERT INTO delayed (
                task_id, due_at, attempt, host_key, session_id, priority_rank, asks_to_begin)
            SELECT id, earliest_begin_at, attempt, host_key, session_id, priority_rank, asks_to_begin
            FROM gone WHERE state = 'scheduled'
        ),
        ready_row AS (
            INSERT INTO ready (host_key, session_id, priority_rank, task_id, attempt)
            SELECT host_key, session_id, priority_rank, id, attempt FROM gone WHERE state = 'queued'
        ),
        happening AS (
            SELECT session_id, 1 AS place, 'task.resumed' AS kind, false AS ends,
                id AS task_id, 'suspended'::task_state AS from_state, state AS task_state, attempt,
                0::bigint AS bytes_received, 0::bigint AS bytes_sent, NULL::jsonb AS failure
            FROM gone
        ),
        \(Fragment.recordHappenings),
        \(Fragment.wake)
        SELECT id FROM gone
        """
    }

    /// Repeats a change until it takes effect or the task's state no longer allows it.
    ///
    /// A statement reads one snapshot: it finds a row that another transaction is moving in neither
    /// table. The next try sees the row where it arrived.
    private func change(
        tenant: TenantID,
        id: TaskID,
        where applies: (TransferTask) -> Bool,
        by query: () -> Query
    ) async throws(StoreError) -> TransferTask? {
        for _ in 0..<Self.triesMax {
            if try await !database.run(query()).isEmpty { break }
            guard let task = try await TaskStore(database).task(tenant: tenant, id: id) else {
                return nil
            }
            guard applies(task), try await !isBeingPublished(id) else { return task }
        }
        return try await TaskStore(database).task(tenant: tenant, id: id)
    }

    private func isBeingPublished(_ id: TaskID) async throws(StoreError) -> Bool {
        let rows = try await database.run("SELECT 1 FROM pending_rename WHERE task_id = \(id.uuid)")
        return !rows.isEmpty
    }

    /// Takes the attempts of `target` that match `condition` from their workers, which are told to
    /// stop; offers `from_attempt`.
    private static func revokeTargets(_ outcome: String, if condition: Query = "true") -> Query {
        """
        from_attempt AS (
            DELETE FROM attempt x USING target t
            WHERE x.task_id = ANY (ARRAY[t.id]) AND \(condition)
            RETURNING x.task_id, x.number, x.bytes_received, x.worker, x.fence, x.started_at,
                x.resumed_at_offset, x.bytes_sent
        ),
        revocation_row AS (
            INSERT INTO revocation (worker, fence, task_id)
            SELECT worker, fence, task_id FROM from_attempt
        ),
        log_row AS (
            INSERT INTO attempt_log (
                task_id, fence, number, outcome, started_at, bytes_received, resumed_at_offset,
                bytes_sent)
            SELECT task_id, fence, number, \(outcome), started_at,
                greatest(0, bytes_received - coalesce(resumed_at_offset, 0)), resumed_at_offset,
                bytes_sent
            FROM from_attempt
        )
        """
    }

    /// Ends the tasks of `target` wherever their hot row is; the stored failure `cause` is the
    /// reason unless their client wanted it.
    ///
    /// Their parts are abandoned, or kept for another task under the name `resumeData`. Hot rows
    /// are looked up one by one: a join would be planned by how full the queue was when its
    /// statistics were taken, and might read all of it for each page of a large session.
    static func cancelTargets(
        producing resumeData: ResumeDataID?,
        because cause: Query = "NULL"
    ) -> Query {
        """
        from_held AS (
            DELETE FROM held x WHERE x.task_id = ANY (ARRAY(SELECT t.id FROM target t))
            RETURNING x.task_id, x.attempt
        ),
        from_delayed AS (
            DELETE FROM delayed x WHERE x.task_id = ANY (ARRAY(SELECT t.id FROM target t))
            RETURNING x.task_id, x.attempt, \(CountStore.state(ofDelayed: "x")) AS state
        ),
        from_ready AS (
            DELETE FROM ready x WHERE x.ctid = ANY (ARRAY(
                SELECT r.row FROM target t CROSS JOIN LATERAL (
                    SELECT y.ctid AS row FROM ready y
                    WHERE y.host_key = t.host_key AND y.session_id = t.session_id
                        AND y.priority_rank = t.priority_rank AND y.task_id = t.id
                    LIMIT 1) r))
            RETURNING x.task_id, x.attempt
        ),
        from_asked AS (
            DELETE FROM asked x WHERE x.task_id = ANY (ARRAY(SELECT t.id FROM target t))
            RETURNING x.task_id, x.attempt, \(CountStore.state(ofAsked: "x")) AS state
        ),
        \(revokeTargets("cancelled")),
        gone AS (
            SELECT task_id, attempt, 0::bigint AS bytes_received, 'suspended'::task_state AS state
            FROM from_held
            UNION ALL SELECT task_id, attempt, 0, state FROM from_delayed
            UNION ALL SELECT task_id, attempt, 0, 'queued' FROM from_ready
            UNION ALL SELECT task_id, attempt, 0, state FROM from_asked
            UNION ALL SELECT task_id, number, bytes_received, 'running' FROM from_attempt
        ),
        from_partial AS (
            DELETE FROM partial x WHERE x.task_id = ANY (ARRAY(SELECT g.task_id FROM gone g))
            RETURNING x.*
        ),
        resume_data_row AS (
            INSERT INTO resume_data (
                id, tenant_id, part_fence, source_task_id, ranges, boot_id, bytes_durable,
                bytes_total, validator)
            SELECT \(resumeData?.uuid), t.tenant_id, x.part_fence,
                coalesce(x.source_task_id, x.task_id), x.ranges, x.boot_id, x.bytes_durable,
                x.bytes_total, x.validator
            FROM from_partial x JOIN target t ON t.id = x.task_id
            WHERE \(resumeData?.uuid)::uuid IS NOT NULL
        ),
        abandoned_row AS (
            INSERT INTO abandoned_part (fence, task_id, source_task_id)
            SELECT x.part_fence, x.task_id, x.source_task_id FROM from_partial x
            WHERE \(resumeData?.uuid)::uuid IS NULL
        ),
        outcome_row AS (
            INSERT INTO outcome (
                task_id, session_id, generation, state, attempt, bytes_received, failure)
            SELECT t.id, t.session_id, t.generation, 'cancelled', g.attempt, g.bytes_received,
                \(cause)::jsonb
            FROM gone g JOIN target t ON t.id = g.task_id
        ),
        happening AS (
            SELECT t.session_id, row_number() OVER (ORDER BY t.id) AS place,
                'task.cancelled' AS kind, true AS ends, t.id AS task_id, g.state AS from_state,
                'cancelled'::task_state AS task_state, g.attempt, g.bytes_received,
                0::bigint AS bytes_sent, \(cause)::jsonb AS failure
            FROM gone g JOIN target t ON t.id = g.task_id
        ),
        \(Fragment.recordHappenings),
        \(Fragment.wake)
        SELECT task_id FROM gone
        """
    }
}
