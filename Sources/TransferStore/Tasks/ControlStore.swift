import Postgres
package import TransferModel

/// The control of existing tasks by their clients: suspend, resume, cancel, change.
package struct ControlStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension ControlStore {
    /// The number of tries of a change that keeps finding the task moving between two tables.
    static let triesMax = 20

    /// Cancels a task that is not terminal and has no pending rename.
    ///
    /// This is linearizable against completion: a worker moves the attempt's row before it
    /// renames the file, so either this call finds the row and the worker does not, or the reverse.
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
            SELECT task_id FROM gone
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
                FROM task t JOIN session s ON s.id = ANY (ARRAY[t.session_id])
                WHERE t.id = \(id.uuid) AND t.tenant_id = \(tenant.uuid)
            ),
            \(Self.suspendTargets)
            SELECT task_id FROM gone
            UNION ALL
            SELECT a.task_id FROM target t CROSS JOIN LATERAL (\(AttemptRuns.selectAttempt)) a
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
            SELECT 1 FROM task t JOIN session s ON s.id = t.session_id
            CROSS JOIN LATERAL (\(AttemptRuns.selectAttempt)) a
            WHERE t.id = \(task.id.uuid) AND NOT \(Fragment.isIdempotent)
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
            SELECT t.id, t.session_id, t.host_key, t.priority_rank, t.earliest_begin_at,
                \(Fragment.asksToBegin(task: "t.options", session: "s.options")) AS asks_to_begin
            FROM task t JOIN session s ON s.id = ANY (ARRAY[t.session_id])
            WHERE t.id = \(id.uuid) AND t.tenant_id = \(tenant.uuid)
        ),
        \(resumeTargets(if: condition))
        SELECT task_id FROM gone
        """
    }

    /// Orders the rest of the transaction against all that take tasks of the session out of the
    /// queue.
    static func lockRuns(of id: TaskID) -> Query {
        ReadyRuns.lock(of: "SELECT session_id FROM task WHERE id = \(id.uuid)")
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
            let rows = try await database.run([Self.lockRuns(of: id), query()])
            if !rows[1].isEmpty { break }
            guard let task = try await TaskStore(database).task(tenant: tenant, id: id) else {
                return nil
            }
            guard applies(task), try await !hasPendingRename(id) else { return task }
        }
        return try await TaskStore(database).task(tenant: tenant, id: id)
    }

    private func hasPendingRename(_ id: TaskID) async throws(StoreError) -> Bool {
        let rows = try await database.run(
            "SELECT 1 FROM task t CROSS JOIN LATERAL (\(RenameRuns.find)) p WHERE t.id = \(id.uuid)"
        )
        return !rows.isEmpty
    }
}
