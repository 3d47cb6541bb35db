import Postgres
import TransferModel

extension CompletionStore {
    /// Returns the statement for ends that write nothing but an outcome and its events.
    ///
    /// It ends those whose fence is found and of which nothing is kept for a later attempt;
    /// ``attemptEnd(of:)`` decides about the others.
    static func plainEnd(of columns: PlainEndColumns) -> Query {
        let groups = FenceRuns.Groups(
            columns.tasks,
            columns.fences,
            length: columns.haveRenames ? RenameRuns.runs.lengthMax : nil
        )
        return """
            -- What only an outcome has is joined at the end: texts that went through all of these would
            -- be copied five times.
            WITH item AS MATERIALIZED (
                SELECT coalesce(i.place, i.row) AS place, i.task_id, i.fence, i.outcome,
                    i.bytes_received, coalesce(i.bytes_sent, 0) AS bytes_sent, i.failure,
                    i.run_group, i.row
                FROM unnest(
                    \(columns.places), \(columns.tasks), \(columns.fences), \(columns.outcomes),
                    \(columns.bytesReceived), \(columns.bytesSent), \(columns.failures),
                    \(groups.numbers)
                ) WITH ORDINALITY AS i (
                    place, task_id, fence, outcome, bytes_received, bytes_sent, failure, run_group, row)
            ),
            -- A batch may hold a stale end of the same task: each row is matched by its fence. They are
            -- locked in the order of the items, which a DELETE that joins them does not ensure.
            \(AttemptRuns.runs.takeItems(in: groups, if: endsInRun)),
            from_row AS MATERIALIZED (
                SELECT a.task_id, a.fence, a.session_id, a.number AS attempt, a.started_at,
                    a.resumed_at_offset, i.place, i.outcome, i.bytes_received, i.bytes_sent, i.failure,
                    i.row
                FROM item i CROSS JOIN LATERAL (\(lockAttempt)) a
                -- Mostly all are found in runs, where none is that has left a part.
                WHERE (SELECT count(*) FROM from_run) < \(Int64(columns.tasks.count))
                    AND \(endsRow) AND \(hasLeftNoPart(of: "i"))
            ),
            attempt_gone AS (
                DELETE FROM attempt a WHERE a.task_id = ANY (ARRAY(SELECT e.task_id FROM from_row e))
            ),
            from_attempt AS (
                SELECT task_id, fence, session_id, number AS attempt, started_at,
                    NULL::bigint AS resumed_at_offset, place, outcome, bytes_received, bytes_sent,
                    failure, row
                FROM from_run
                UNION ALL SELECT * FROM from_row
            ),
            \(columns.haveRenames ? fromRename(in: groups) : noRename),
            -- The tasks of a session that ended alike: what its events, counters and counts are made of.
            run AS MATERIALIZED (
                SELECT session_id, outcome IN ('completed', 'fetched') AS is_download,
                    CASE outcome WHEN 'failed' THEN 'failed'::task_state ELSE 'completed' END
                        AS task_state,
                    row_number() OVER () AS number, count(*) AS length,
                    array_agg(task_id) AS task_ids, array_agg(attempt) AS attempts,
                    array_agg(bytes_received) AS bytes_received,
                    array_agg(failure::jsonb) AS failures, sum(bytes_received)::bigint AS received,
                    sum(bytes_sent)::bigint AS sent
                FROM gone
                GROUP BY 1, 2, 3, (place - 1) / \(Int64(EventRuns.lengthMax))
            ),
            change AS (
                SELECT session_id, sum(length * (1 + is_download::int))::bigint AS events,
                    sum(length)::bigint AS ended, false AS asks, false AS is_heard_of,
                    coalesce(sum(length) FILTER (WHERE task_state = 'completed'), 0)::bigint
                        AS completed,
                    coalesce(sum(length) FILTER (WHERE task_state = 'failed'), 0)::bigint AS failed,
                    0 AS cancelled
                FROM run GROUP BY session_id
            ),
            \(EventRuns.countChanges),
            event_row AS (
                INSERT INTO event_run (
                    session_id, last_sequence, first_sequence, kind, generation, occurred_at, task_ids,
                    task_state, attempts, bytes_received, failures)
                SELECT c.session_id, c.base + k.last, c.base + k.last - k.length + 1, k.kind,
                    c.generation, c.occurred_at, k.task_ids, k.task_state, k.attempts, k.bytes_received,
                    k.failures
                FROM (
                    SELECT r.session_id, r.length, r.task_ids, r.attempts, r.bytes_received, e.*,
                        sum(r.length) OVER (
                            PARTITION BY r.session_id ORDER BY e.kind <> 'task.download_finished',
                            r.number)::bigint AS last
                    FROM run r CROSS JOIN LATERAL (
                        SELECT 'task.download_finished' AS kind, 'running'::task_state AS task_state,
                            NULL::jsonb[] AS failures
                        WHERE r.is_download
                        UNION ALL
                        SELECT 'task.' || r.task_state, r.task_state,
                            CASE r.task_state WHEN 'failed' THEN r.failures END
                    ) e
                ) k JOIN counter c USING (session_id)
            ),
            move_row AS (
                INSERT INTO task_move (
                    tenant_id, session_id, from_state, to_state, tasks, bytes_received, bytes_sent)
                SELECT s.tenant_id, r.session_id, 'running', r.task_state, r.length, r.received, r.sent
                FROM run r CROSS JOIN LATERAL (
                    SELECT tenant_id FROM session WHERE id = r.session_id LIMIT 1) s
            ),
            session_row AS (\(EventRuns.insertEventsOfSessions)),
            \(SessionStore.endSessions),
            outcome_row AS (
                INSERT INTO outcome (
                    task_id, session_id, generation, state, attempt, bytes_received, http_status,
                    response_head, failure, bytes_sent, response_body, part_fence, fence, started_at,
                    resumed_at_offset, measurements)
                -- A task that is running belongs to the generation that is under way.
                SELECT g.task_id, g.session_id, c.generation,
                    CASE g.outcome WHEN 'failed' THEN 'failed'::task_state ELSE 'completed' END,
                    g.attempt, g.bytes_received, coalesce(g.http_status, o.http_status),
                    coalesce(g.response_head, o.response_head), g.failure::jsonb, g.bytes_sent,
                    o.response_body, o.part_fence, g.fence, g.started_at, g.resumed_at_offset,
                    o.measurements
                FROM gone g JOIN counter c USING (session_id)
                JOIN unnest(
                    \(columns.measurements), \(columns.httpStatuses), \(columns.responseHeads),
                    \(columns.partFences), \(columns.responseBodies)
                ) WITH ORDINALITY AS o (
                    measurements, http_status, response_head, part_fence, response_body, row)
                    USING (row)
            ),
            \(Fragment.wake)
            SELECT task_id FROM gone
            """
    }

    /// Whether nothing is kept for a later attempt of an item.
    private static func hasLeftNoPart(of item: Query) -> Query {
        "(SELECT x.task_id FROM partial x WHERE x.task_id = \(item).task_id LIMIT 1) IS NULL"
    }

    private static let noRename: Query = """
        gone AS NOT MATERIALIZED (
            SELECT *, NULL::smallint AS http_status, NULL AS response_head FROM from_attempt
        )
        """

    /// Renames in a run with others were attempts in runs, of which none has left a part.
    private static func fromRename(in groups: FenceRuns.Groups) -> Query {
        """
        \(RenameRuns.runs.takeItems(
            in: groups,
            if: "i.outcome = 'completed'",
            of: "(cardinality(r.task_ids) > 1 OR \(hasLeftNoPart(of: "c")))"
        )),
        gone AS NOT MATERIALIZED (
            SELECT *, NULL::smallint AS http_status, NULL AS response_head FROM from_attempt
            UNION ALL
            SELECT task_id, fence, session_id, number, started_at, resumed_at_offset, place, outcome,
                bytes_whole, bytes_sent, failure, row, http_status, response_head
            FROM from_rename
        )
        """
    }
}
