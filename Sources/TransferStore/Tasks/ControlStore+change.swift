import Foundation
import Postgres
package import TransferModel

extension ControlStore {
    /// The result of a change.
    package enum ChangeResult: Sendable {
        case changed(TransferTask)
        /// The task as it ended; nothing was changed.
        case ended(TransferTask)
        /// The task has another revision than the change is for; nothing was changed.
        case conditionFailed
        case unknownTask
    }

    /// Changes a task that has not ended, if `condition` is met.
    ///
    /// The lock on the session's counters orders the change against events: each event reports the
    /// client string as it was at that time, and the last event reports the one with which the task
    /// ended.
    package func changeTask(
        tenant: TenantID,
        id: TaskID,
        _ change: TaskChange,
        if condition: RevisionCondition = .none
    ) async throws(StoreError) -> ChangeResult {
        var condition = condition
        for _ in 0..<Self.triesMax {
            let rows = try await database.run(
                [
                    Self.lockRuns(of: id), Self.lockSession(of: id, tenant),
                    Self.change(id, tenant, change, condition),
                ] + (change.bytesPerSecondMax == nil ? [] : [WorkerStore.countLimitChange])
            )
            guard !rows[1].isEmpty else { return .unknownTask }
            guard let task = try await TaskStore(database).task(tenant: tenant, id: id) else {
                return .unknownTask
            }
            guard let changed = rows[2].first else {
                return task.state.isTerminal ? .ended(task) : .conditionFailed
            }
            condition = .none
            if try Self.isBetweenTables(task, change, waits: changed.decode("waits")) { continue }
            guard change.priority != nil, task.state == .queued, try await isMisplaced(id) else {
                return .changed(task)
            }
        }
        throw .unavailable(PostgresError(decoding: "the task never stood still"))
    }

    /// Whether the change may have missed the task's row because it was moving between two tables.
    ///
    /// A statement reads one snapshot: it finds a row that is being moved in neither table, and the
    /// task then still waits until the old time. Whether it `waits` for the new time is for the
    /// clock of the database to say, by which the statement put it where it belongs.
    private static func isBetweenTables(
        _ task: TransferTask,
        _ change: TaskChange,
        waits: Bool
    ) -> Bool {
        guard change.earliestBeginAt != nil, task.attempt == 0 else { return false }
        switch task.state {
        case .queued, .waitingToBegin: return waits
        case .scheduled: return task.waitsUntil != task.earliestBeginAt
        case .suspended, .running, .waitingForRetry, .waitingForConnectivity,
            .waitingForAuthentication, .completed, .failed, .cancelled:
            return false
        }
    }

    /// Whether a task is in the queue at another rank than its own, because it was put there while
    /// its rank was changed.
    private func isMisplaced(_ id: TaskID) async throws(StoreError) -> Bool {
        let rows = try await database.run(
            """
            SELECT 1 FROM task t CROSS JOIN LATERAL (\(ReadyRuns.select("r.priority_rank"))) r
            WHERE t.id = \(id.uuid) AND r.priority_rank <> t.priority_rank
            """
        )
        return !rows.isEmpty
    }

    /// Orders the rest of the transaction against all changes of the session's tasks.
    static func lockSession(of id: TaskID, _ tenant: TenantID) -> Query {
        """
        SELECT 1 FROM session_progress p
        JOIN task t ON p.session_id = ANY (ARRAY[t.session_id])
        WHERE t.id = \(id.uuid) AND t.tenant_id = \(tenant.uuid) FOR UPDATE OF p
        """
    }

    private static func change(
        _ id: TaskID,
        _ tenant: TenantID,
        _ change: TaskChange,
        _ condition: RevisionCondition
    ) -> Query {
        let hasBegin = change.earliestBeginAt != nil
        let begin = change.earliestBeginAt ?? nil
        let hasCredential = change.credential != nil
        let limit = change.bytesPerSecondMax ?? nil
        return """
            WITH old AS (
                SELECT id, session_id, host_key, priority_rank, client_string AS was FROM task t
                WHERE id = \(id.uuid) AND tenant_id = \(tenant.uuid)
                    AND NOT EXISTS (SELECT 1 FROM outcome o WHERE o.task_id = t.id)
                    AND \(Fragment.hasRevision("t.revision", condition))
            ),
            new AS (
                UPDATE task t SET
                    revision = t.revision + 1,
                    client_string = CASE WHEN \(change.clientString != nil)
                        THEN \((change.clientString ?? nil)?.utf8) ELSE client_string END,
                    earliest_begin_at = CASE WHEN \(hasBegin)
                        THEN \(begin) ELSE earliest_begin_at END,
                    priority_rank = coalesce(\(change.priority?.rank), t.priority_rank),
                    options = nullif(jsonb_strip_nulls(
                        coalesce(t.options, '{}')
                        || CASE WHEN \(hasCredential) THEN jsonb_build_object(
                            'credential', \(change.credential ?? nil)::text) ELSE '{}' END
                        || CASE WHEN \(change.bytesPerSecondMax != nil) THEN jsonb_build_object(
                            'bytes_per_second_max', \(limit)::bigint) ELSE '{}' END), '{}')
                FROM old JOIN session s ON s.id = ANY (ARRAY[old.session_id])
                WHERE t.id = ANY (ARRAY[old.id])
                RETURNING t.id, t.host_key, t.session_id, old.priority_rank AS old_rank,
                    t.priority_rank AS rank,
                    \(hasBegin) AND coalesce(t.earliest_begin_at > now(), false) AS waits,
                    \(hasBegin) AND NOT coalesce(t.earliest_begin_at > now(), false) AS begins,
                    t.earliest_begin_at,
                    \(Fragment.asksToBegin(task: "t.options", session: "s.options")) AS asks_to_begin
            ),
            -- Of two changes without an event in between the second finds the first one's row.
            change_row AS (
                INSERT INTO client_string_change (task_id, through_sequence, client_string)
                SELECT old.id, p.last_sequence, old.was
                FROM old JOIN session_progress p ON p.session_id = ANY (ARRAY[old.session_id])
                WHERE \(change.clientString != nil)
                ON CONFLICT (task_id, through_sequence) DO NOTHING
            ),
            -- Where the task waits its row is replaced, in the table that it belongs to now; what
            -- has begun keeps to its retries. Its run may have another rank than the task had.
            target AS (
                SELECT id, host_key, session_id, old_rank AS priority_rank FROM new
                WHERE waits OR \(change.priority != nil)
            ),
            \(ReadyRuns.take),
            unqueued AS (
                SELECT r.task_id, r.attempt, r.began_at, n.host_key, n.session_id, n.rank,
                    n.waits AND r.attempt = 0 AS waits, n.earliest_begin_at, n.asks_to_begin
                FROM from_ready r JOIN new n ON n.id = r.task_id
            ),
            from_delayed AS (
                DELETE FROM delayed d USING new n WHERE d.task_id = ANY (ARRAY[n.id])
                RETURNING d.task_id, d.attempt, d.began_at, d.failure, d.awaits_host, n.host_key,
                    n.session_id, n.rank, d.asks_to_begin,
                    NOT (n.begins AND d.failure IS NULL) AS waits, \(CountStore.state(ofDelayed: "d")) AS state,
                    CASE WHEN n.waits AND d.failure IS NULL
                        THEN n.earliest_begin_at ELSE d.due_at END AS due_at
            ),
            from_challenged AS (
                DELETE FROM asked q USING new n
                WHERE q.task_id = ANY (ARRAY[n.id]) AND q.question = 'authentication'
                    AND \(hasCredential)
                RETURNING q.task_id, q.attempt, q.began_at, q.session_id, q.origin, n.host_key, n.rank
            ),
            \(AnswerStore.forgetGiven(to: "from_challenged")),
            -- Asked too early, as it now is.
            from_asked AS (
                DELETE FROM asked q USING new n
                WHERE q.task_id = ANY (ARRAY[n.id]) AND q.question = 'begin' AND n.waits
                RETURNING q.task_id, q.attempt, n.host_key, n.session_id, n.rank, n.earliest_begin_at
            ),
            ready_row AS (\(ReadyRuns.insert("""
                SELECT host_key, session_id, rank, task_id, attempt, began_at
                FROM unqueued WHERE NOT waits
                UNION ALL
                SELECT host_key, session_id, rank, task_id, attempt, began_at
                FROM from_delayed WHERE NOT waits
                UNION ALL
                SELECT host_key, session_id, rank, task_id, attempt, began_at FROM from_challenged
                """))),
            delayed_row AS (
                INSERT INTO delayed (
                    task_id, due_at, attempt, failure, host_key, session_id, priority_rank, began_at,
                    awaits_host, asks_to_begin)
                SELECT task_id, earliest_begin_at, attempt, NULL, host_key, session_id, rank, began_at,
                    false, asks_to_begin
                FROM unqueued WHERE waits
                UNION ALL
                SELECT task_id, due_at, attempt, failure, host_key, session_id, rank, began_at,
                    awaits_host, asks_to_begin
                FROM from_delayed WHERE waits
                UNION ALL
                SELECT task_id, earliest_begin_at, attempt, NULL, host_key, session_id, rank, NULL, false,
                    true
                FROM from_asked
            ),
            move_row AS (\(CountStore.recordMoves("""
                SELECT session_id, 'queued'::task_state AS from_state,
                    'scheduled'::task_state AS to_state, 0 AS bytes_received, 0 AS bytes_sent
                FROM unqueued WHERE waits
                UNION ALL SELECT session_id, state, 'queued', 0, 0 FROM from_delayed WHERE NOT waits
                UNION ALL SELECT session_id, 'waiting_for_authentication', 'queued', 0, 0
                FROM from_challenged
                UNION ALL SELECT session_id, 'waiting_to_begin', 'scheduled', 0, 0 FROM from_asked
                """)))
            SELECT waits FROM new
            """
    }
}
