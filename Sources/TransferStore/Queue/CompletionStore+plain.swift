import Postgres
import TransferModel

extension CompletionStore {
    /// Returns the statement for ends that write nothing but an outcome and its events.
    ///
    /// It ends those whose fence is found in a run, whole stretches only: an attempt in a run has
    /// left no part. ``attemptEnd(of:)`` decides about the others.
    ///
    /// Of an attempt with a row of its own this statement could not tell: while it waits for that
    /// row, a checkpoint may store a part that it does not see.
    static func plainEnd(
        of attemptEnds: [AttemptEnd],
        _ columns: PlainEndColumns
    ) -> AttemptChange {
        let query: Query = """
            WITH given AS MATERIALIZED (
                SELECT \(columns.tasks) AS task_ids, \(columns.fences) AS fences,
                    \(columns.outcomes.map(\.rawValue)) AS outcomes,
                    \(columns.bytesReceived) AS bytes_received,
                    \(columns.bytesSent) AS bytes_sent, \(columns.failures) AS failures
            ),
            \(AttemptRuns.runs.take(
                columns.runs,
                of: "SELECT task_ids FROM given",
                "r.session_id, r.number, r.started_at"
            )),
            \(columns.renames.isEmpty ? "" : fromRename(columns.renames))
            -- In the order of the arguments, in which events follow each other.
            taken AS MATERIALIZED (
                SELECT low, high, session_id, number, started_at, NULL::bigint AS resumed_at_offset,
                    NULL::bigint[] AS bytes_whole, NULL::smallint[] AS http_statuses,
                    NULL::text[] AS response_heads
                FROM from_run
                \(columns.renames.isEmpty ? "" : andRenames)
                ORDER BY low
            ),
            -- The tasks of a session that ended alike: what its events, counters and counts are
            -- made of.
            run AS MATERIALIZED (
                SELECT session_id, outcome IN ('completed', 'fetched') AS is_download,
                    CASE outcome WHEN 'failed' THEN 'failed'::task_state ELSE 'completed' END
                        AS task_state,
                    row_number() OVER () AS number, count(*) AS length,
                    array_agg(task_id) AS task_ids, array_agg(attempt) AS attempts,
                    array_agg(coalesce(bytes_whole, bytes_received)) AS bytes_received,
                    array_agg(failure::jsonb) AS failures,
                    sum(coalesce(bytes_whole, bytes_received))::bigint AS received,
                    coalesce(sum(bytes_sent), 0)::bigint AS sent
                FROM (
                    -- Not joined: that would store each column first.
                    SELECT o.session_id, o.number AS attempt, \(each(given: "task_ids")) AS task_id,
                        \(each(given: "outcomes")) AS outcome,
                        \(each(given: "bytes_received")) AS bytes_received,
                        \(each(given: "bytes_sent")) AS bytes_sent, \(each(given: "failures")) AS failure,
                        unnest(o.bytes_whole) AS bytes_whole, \(each(of: columns.places)) AS place,
                        generate_series(o.low, o.high) AS row
                    FROM taken o
                ) i
                GROUP BY 1, 2, 3, (coalesce(place, row) - 1) / \(Int64(EventRuns.lengthMax))
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
                SELECT i.task_id, i.session_id, c.generation,
                    CASE i.outcome WHEN 'failed' THEN 'failed'::task_state ELSE 'completed' END,
                    i.number, coalesce(i.bytes_whole, i.bytes_received),
                    coalesce(i.status_whole, i.http_status), coalesce(i.head_whole, i.response_head),
                    i.failure::jsonb, coalesce(i.bytes_sent, 0), i.response_body, i.part_fence, i.fence,
                    i.started_at, i.resumed_at_offset, i.measurements
                FROM (
                    SELECT o.session_id, o.number, o.started_at, o.resumed_at_offset,
                        \(each(given: "task_ids")) AS task_id, \(each(given: "fences")) AS fence,
                        \(each(given: "outcomes")) AS outcome,
                        \(each(given: "bytes_received")) AS bytes_received,
                        \(each(given: "bytes_sent")) AS bytes_sent, \(each(given: "failures")) AS failure,
                        \(each(of: columns.measurements)) AS measurements,
                        \(each(of: columns.httpStatuses)) AS http_status,
                        \(each(of: columns.responseHeads)) AS response_head,
                        \(each(of: columns.partFences)) AS part_fence,
                        \(each(of: columns.responseBodies)) AS response_body,
                        unnest(o.bytes_whole) AS bytes_whole, unnest(o.http_statuses) AS status_whole,
                        unnest(o.response_heads) AS head_whole
                    FROM taken o
                ) i JOIN counter c USING (session_id)
            ),
            \(Fragment.wake)
            SELECT low, high FROM taken
            """
        return AttemptChange(
            tasks: columns.tasks.map { TaskID($0) },
            fences: attemptEnds.compactMap(\.fenceInRun),
            query: query
        )
    }

    /// Returns what each task of a stretch `o` has of a column of `given`.
    private static func each(given column: Query) -> Query {
        "unnest((SELECT \(column) FROM given)[o.low : o.high])"
    }

    /// Returns what each task of a stretch `o` has of an argument.
    private static func each(of argument: some PostgresEncodable) -> Query {
        "unnest((\(argument))[o.low : o.high])"
    }

    /// Whether nothing is kept for a later attempt of a task.
    private static func hasLeftNoPart(of task: Query) -> Query {
        "(SELECT x.task_id FROM partial x WHERE x.task_id = \(task) LIMIT 1) IS NULL"
    }

    private static let andRenames: Query = """
        UNION ALL
        SELECT low, high, session_id, number, started_at, resumed_at_offset, bytes_whole,
            http_statuses, response_heads
        FROM from_rename
        """

    /// Renames in a run with others were attempts in runs, of which none has left a part.
    private static func fromRename(_ spans: FenceSpans) -> Query {
        let slice: Query = "[x.place : x.place + x.high - x.low]"
        return """
            \(RenameRuns.runs.take(
                spans,
                of: "SELECT task_ids FROM given",
                """
                r.number, r.session_id, r.started_at, r.resumed_at_offset,
                r.bytes_received\(slice) AS bytes_whole, r.http_statuses\(slice) AS http_statuses,
                r.response_heads\(slice) AS response_heads
                """,
                if: "(cardinality(r.task_ids) > 1 OR \(hasLeftNoPart(of: "r.task_ids[1]")))"
            )),
            """
    }
}
