import Foundation
import Postgres
package import TransferModel

/// The ends of attempts.
package struct CompletionStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension CompletionStore {
    /// The query for the attempt of an item `i`, if it has that fence and a row of its own.
    ///
    /// `LIMIT` makes this a look-up by key for each item. Without it a plan follows the statistics
    /// of the table, which are mostly those of an empty one.
    static let lockAttempt: Query = """
        SELECT * FROM attempt a WHERE a.task_id = i.task_id AND a.fence = i.fence
        LIMIT 1 FOR UPDATE
        """

    /// Whether an item `i` may end an attempt in a run.
    static let endsInRun: Query = "i.outcome <> 'completed'"

    /// Whether an item `i` may end an attempt with a row of its own, because no run had it.
    static let endsRow: Query = """
        i.outcome <> 'completed' AND i.task_id NOT IN (SELECT f.task_id FROM from_run f)
        """

    /// Ends attempts and pending renames, and begins the renames of others, in one transaction.
    ///
    /// It writes the events of the ends and keeps the sessions' counters. An attempt whose rename
    /// begins has a part file that is whole and durable; it is past the point of no return then.
    ///
    /// - Returns: the tasks that were ended, and those whose pending rename of that fence now
    ///   exists, also if an earlier call with an unknown outcome made it. The fences of all others
    ///   were stale, and the caller must check their part files.
    package func end(
        _ attemptEnds: [AttemptEnd],
        beginning pendingRenames: [PendingRename] = []
    ) async throws(StoreError) -> Set<TaskID> {
        var changes: [AttemptChange] = []
        if !pendingRenames.isEmpty { changes.append(Self.pendingRename(of: pendingRenames)) }
        if !attemptEnds.isEmpty {
            if let plain = try PlainEndColumns(attemptEnds) {
                changes.append(Self.plainEnd(of: attemptEnds, plain))
            } else {
                changes.append(try Self.attemptEnd(of: attemptEnds))
            }
        }
        var changed = try await run(changes)
        let others = attemptEnds.filter { !changed.contains($0.task) }
        var unmoved = pendingRenames.filter { !changed.contains($0.task) }
        var again: [AttemptChange] = []
        if !unmoved.isEmpty { again.append(Self.pendingRename(of: unmoved, apart: true)) }
        if !others.isEmpty { again.append(try Self.attemptEnd(of: others)) }
        changed.formUnion(try await run(again, isAgain: true))
        unmoved.removeAll { changed.contains($0.task) }
        if !unmoved.isEmpty { changed.formUnion(try await pending(unmoved)) }
        return changed
    }

    /// Runs statements in one transaction.
    ///
    /// What they have not found is looked for `again`, task by task. It may be a part of a stretch
    /// that is not whole. Or its attempt got a row of its own while a statement waited for its run,
    /// and is in neither for that statement, which sees rows as they were when it began. So the
    /// second time the runs are locked by a statement before; an attempt never goes back into a
    /// run.
    ///
    /// For the same reason a statement that looks for parts is preceded by the locks of all
    /// attempts that it may end: a checkpoint that it would have waited for has stored its part by
    /// then.
    ///
    /// - Returns: the tasks whose attempts they changed.
    private func run(
        _ changes: [AttemptChange],
        isAgain: Bool = false
    ) async throws(StoreError) -> Set<TaskID> {
        guard !changes.isEmpty else { return [] }
        var queries = [database.briefLocks]
        let inRuns = changes.map(\.fences).filter { !$0.isEmpty }
        let looksForParts = changes.contains(where: \.looksForParts)
        // The first time one statement alone locks its runs itself.
        if !inRuns.isEmpty, inRuns.count > 1 || isAgain || looksForParts {
            let fences = inRuns.joined().map(\.rawValue).sorted()
            queries.append(AttemptRuns.runs.lock(FenceSpans(fences)))
            if looksForParts {
                queries.append(AttemptRuns.lockRows(of: changes.flatMap(\.tasks)))
            }
        }
        let first = queries.count
        // Every transaction locks rows of tasks first and the counters of sessions last.
        queries += changes.map(\.query) + changes.flatMap(\.last)
        let answers = try await database.run(queries)[first...]
        var changed = Set<TaskID>(minimumCapacity: changes.reduce(0) { $0 + $1.tasks.count })
        for (change, answer) in zip(changes, answers) {
            changed.formUnion(try change.changed(answer))
        }
        return changed
    }

    /// Returns the statement for ends of every kind, each of which is looked for by itself.
    static func attemptEnd(of attemptEnds: [AttemptEnd]) throws(StoreError) -> AttemptChange {
        let columns = try AttemptEndColumns(attemptEnds)
        let groups = FenceRuns.Groups(
            columns.tasks,
            columns.fences,
            length: RenameRuns.runs.lengthMax
        )
        let query: Query = """
            WITH item AS (
                SELECT * FROM unnest(
                    \(columns.places), \(columns.tasks), \(columns.fences),
                    \(columns.outcomes.map(\.rawValue)), \(columns.bytesReceived),
                    \(columns.bytesSent), \(columns.failures),
                    \(columns.delays), \(columns.abandoned), \(columns.measurements), \(groups.numbers)
                ) AS i (
                    place, task_id, fence, outcome, bytes_received, bytes_sent, failure, delay_ms,
                    abandoned, measurements, run_group)
            ),
            -- 1. Each row reports its own end, matched by fence: a batch may hold a stale end of
            -- the same task.
            \(AttemptRuns.runs.takeItems(in: groups, if: Self.endsInRun)),
            from_row AS MATERIALIZED (
                SELECT i.place, i.task_id, i.fence, i.outcome,
                    -- Only the row knows this if the worker died.
                    CASE i.outcome WHEN 'requeued' THEN a.bytes_received ELSE i.bytes_received END
                        AS bytes_received,
                    i.bytes_sent, i.failure, i.delay_ms, i.abandoned, i.measurements, a.number,
                    a.started_at, a.began_at, a.resumed_at_offset
                FROM item i CROSS JOIN LATERAL (\(Self.lockAttempt)) a
                WHERE \(Self.endsRow)
            ),
            attempt_gone AS (
                DELETE FROM attempt a WHERE a.task_id = ANY (ARRAY(SELECT e.task_id FROM from_row e))
            ),
            from_attempt AS (
                SELECT place, task_id, fence, outcome,
                    CASE outcome WHEN 'requeued' THEN 0 ELSE bytes_received END AS bytes_received,
                    bytes_sent, failure, delay_ms, abandoned, measurements, number, started_at,
                    began_at, NULL::bigint AS resumed_at_offset
                FROM from_run
                UNION ALL SELECT * FROM from_row
            ),
            -- Attempts of these two outcomes have no pending rename.
            \(RenameRuns.runs.takeItems(
                in: groups,
                if: "i.outcome NOT IN ('fetched', 'answered')"
            )),
            gone AS (
                SELECT e.place, e.outcome, e.failure::jsonb AS failure, e.delay_ms, e.bytes_sent,
                    e.abandoned, e.measurements, t.id AS task_id, t.tenant_id, t.session_id,
                    t.generation, \(columns.moves.selected), t.priority_rank, e.fence,
                    e.number AS attempt, e.bytes_received, e.started_at, e.began_at,
                    e.resumed_at_offset, u.response_body,
                    coalesce(e.part_fence, u.part_fence) AS part_fence,
                    coalesce(e.http_status, u.http_status) AS http_status,
                    coalesce(e.response_head, u.response_head) AS response_head
                FROM (
                    SELECT *, NULL::smallint AS http_status, NULL AS response_head,
                        NULL::bigint AS part_fence
                    FROM from_attempt
                    UNION ALL
                    SELECT place, task_id, fence, outcome, bytes_whole, bytes_sent, failure, delay_ms,
                        abandoned, measurements, number, started_at, started_at,
                        resumed_at_offset, http_status, response_head, part_fence
                    FROM from_rename
                ) e
                CROSS JOIN LATERAL (SELECT * FROM task t WHERE t.id = e.task_id LIMIT 1) t
                LEFT JOIN unnest(
                    \(columns.responses.map(\.place)), \(columns.responses.map(\.httpStatus)),
                    \(columns.responses.map(\.responseHead)), \(columns.responses.map(\.partFence)),
                    \(columns.responses.map(\.body))
                ) AS u (place, http_status, response_head, part_fence, response_body)
                    ON u.place = e.place
                \(columns.moves.join)
            ),
            outcome_row AS (
                INSERT INTO outcome (
                    task_id, session_id, generation, state, attempt, bytes_received, http_status,
                    response_head, failure, bytes_sent, response_body, part_fence, fence, started_at,
                    resumed_at_offset, measurements)
                SELECT task_id, session_id, generation,
                    CASE outcome WHEN 'failed' THEN 'failed'::task_state ELSE 'completed' END,
                    attempt, bytes_received, http_status,
                    CASE WHEN outcome <> 'failed' THEN response_head END, failure, bytes_sent, response_body,
                    CASE outcome WHEN 'fetched' THEN part_fence END, fence, started_at,
                    resumed_at_offset, measurements
                FROM gone WHERE outcome IN ('completed', 'fetched', 'answered', 'failed')
            ),
            delayed_row AS (
                INSERT INTO delayed (
                    task_id, due_at, attempt, failure, host_key, session_id, priority_rank, began_at,
                    awaits_host)
                SELECT task_id, clock_timestamp() + delay_ms * interval '1 ms',
                    attempt - (outcome IN ('wait_for_connectivity', 'wait_out'))::int, failure,
                    host_key, session_id, priority_rank, began_at,
                    outcome = 'wait_for_connectivity'
                FROM gone WHERE outcome IN ('retry', 'wait_for_connectivity', 'wait_out')
            ),
            asked_row AS (
                INSERT INTO asked (
                    task_id, session_id, tenant_id, question, attempt, began_at, until, failure,
                    origin, credential, attempted_at)
                SELECT g.task_id, g.session_id, g.tenant_id, 'authentication', g.attempt - 1, g.began_at,
                    clock_timestamp() + g.delay_ms * interval '1 ms', g.failure, q.origin,
                    q.credential, g.started_at
                FROM gone g JOIN unnest(
                    \(columns.questions.map(\.place)), \(columns.questions.map(\.origin)),
                    \(columns.questions.map(\.credential))
                ) AS q (place, origin, credential) USING (place)
                WHERE g.outcome = 'ask_for_credential'
            ),
            ready_row AS (\(ReadyRuns.insert("""
                SELECT host_key, session_id, priority_rank, task_id,
                    attempt - (outcome IN ('released', 'moved'))::int, began_at
                FROM gone WHERE outcome IN ('released', 'requeued', 'moved')
                """))),
            log_row AS (
                INSERT INTO attempt_log (
                    task_id, fence, number, outcome, started_at, bytes_received,
                    resumed_at_offset, failure, bytes_sent, measurements)
                SELECT task_id, fence, attempt, CASE outcome
                        WHEN 'released' THEN 'released' WHEN 'requeued' THEN 'lost'
                        ELSE 'retried' END,
                    started_at, greatest(0, bytes_received - coalesce(resumed_at_offset, 0)),
                    resumed_at_offset, failure, bytes_sent, measurements
                FROM gone WHERE outcome NOT IN ('completed', 'fetched', 'answered', 'failed')
            ),
            -- 2. The part files that another attempt resumes, and those that nothing needs any
            -- more.
            \(PartStore.keepParts(columns.partials)),
            \(happening),
            \(EventRuns.recordHappenings),
            \(columns.moves.storing)
            -- 3. A task that is back in the queue causes no event.
            return_row AS (\(CountStore.recordMoves("""
                SELECT session_id, 'running'::task_state AS from_state,
                    'queued'::task_state AS to_state, 0 AS bytes_received, 0 AS bytes_sent
                FROM gone WHERE outcome IN ('released', 'requeued', 'moved')
                """))),
            \(Fragment.wake)
            SELECT place::int AS low, place::int AS high FROM gone
            """
        return AttemptChange(
            tasks: attemptEnds.map(\.task),
            fences: attemptEnds.compactMap(\.fenceInRun),
            query: query,
            last: columns.questions.isEmpty ? [] : AnswerStore.continueAnswered(columns.tasks),
            looksForParts: true
        )
    }

    /// The CTE of what happens to the tasks of `gone`, for ``EventRuns/recordHappenings``.
    private static let happening: Query = """
        happening AS (
            SELECT session_id, place * 2 + k.step AS place, k.kind, k.ends, task_id,
                CASE k.step WHEN 1 THEN 'running'::task_state END AS from_state, k.task_state,
                attempt, bytes_received, bytes_sent, failure
            FROM gone JOIN (
                VALUES
                ('completed', 0, 'task.download_finished', false, 'running'::task_state),
                ('completed', 1, 'task.completed', true, 'completed'),
                ('fetched', 0, 'task.download_finished', false, 'running'),
                ('fetched', 1, 'task.completed', true, 'completed'),
                ('answered', 1, 'task.completed', true, 'completed'),
                ('failed', 1, 'task.failed', true, 'failed'),
                ('retry', 1, 'task.waiting', false, 'waiting_for_retry'),
                ('wait_out', 1, 'task.waiting', false, 'waiting_for_retry'),
                ('wait_for_connectivity', 1, 'task.waiting', false, 'waiting_for_connectivity'),
                ('ask_for_credential', 1, 'task.authentication_required', false,
                    'waiting_for_authentication')
            ) AS k (outcome, step, kind, ends, task_state) USING (outcome)
        )
        """
}

extension AttemptEnd {
    /// The fence by which a run may have the attempt; nil if it has a pending rename, for which it
    /// left its run.
    var fenceInRun: Fence? {
        if case .completed = outcome { nil } else { fence }
    }
}
