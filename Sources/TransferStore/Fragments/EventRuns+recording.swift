import Postgres

/// Parts of statements that write events; each names the CTEs it expects.
extension EventRuns {
    /// The CTEs that number and write events, and keep the counters.
    ///
    /// When no task is outstanding any more, they end the generation with
    /// `session.events_finished`: in the transaction that ended the last task, under the lock of
    /// the session's counters, hence exactly once. A session that is finishing ends then, and
    /// `session.invalidated` is its last event. A session whose tasks begin to need their client
    /// reports it once until the client acts.
    ///
    /// Events of one kind follow each other in the order of their places, and finished downloads
    /// come before the ends of tasks.
    ///
    /// Expects `happening(session_id, place, kind, ends, task_id, from_state, task_state, attempt,
    /// bytes_received, bytes_sent, failure)`, without a `from_state` where the task has not moved;
    /// offers `counter`.
    static let recordHappenings: Query = """
        change AS (
            SELECT session_id, count(*) AS events,
                count(*) FILTER (WHERE ends) AS ended,
                bool_or(\(needsClient)) AS asks, bool_or(kind IN (
                    'task.resumed', 'task.suspended', 'task.cancelled')) AS is_heard_of,
                count(*) FILTER (WHERE ends AND task_state = 'completed') AS completed,
                count(*) FILTER (WHERE ends AND task_state = 'failed') AS failed,
                count(*) FILTER (WHERE ends AND task_state = 'cancelled') AS cancelled
            FROM happening GROUP BY session_id
        ),
        \(countChanges),
        event_row AS (
            INSERT INTO event_run (
                session_id, last_sequence, first_sequence, kind, generation, occurred_at, task_ids,
                task_state, attempts, bytes_received, failures)
            SELECT c.session_id, c.base + r.last, c.base + r.last - r.length + 1, r.kind,
                c.generation, c.occurred_at, r.task_ids, r.task_state, r.attempts, r.bytes_received,
                CASE WHEN r.have_failed THEN r.failures END
            FROM (
                SELECT session_id, kind, task_state, count(*) AS length,
                    sum(count(*)) OVER (
                        PARTITION BY session_id
                        ORDER BY kind <> 'task.download_finished', min(place))::bigint AS last,
                    array_agg(task_id ORDER BY place) AS task_ids,
                    array_agg(attempt ORDER BY place) AS attempts,
                    array_agg(bytes_received ORDER BY place) AS bytes_received,
                    bool_or(failure IS NOT NULL) AS have_failed,
                    array_agg(failure ORDER BY place) AS failures
                FROM (
                    SELECT *, (row_number() OVER (
                        PARTITION BY session_id, kind, task_state ORDER BY place) - 1)
                        / \(Int64(lengthMax)) AS part
                    FROM happening
                ) h
                GROUP BY session_id, kind, task_state, part
            ) r JOIN counter c USING (session_id)
        ),
        -- An event of a task that has not moved leaves no state and enters none.
        move_row AS (\(CountStore.recordMoves("""
            SELECT session_id, from_state,
                CASE WHEN from_state IS NOT NULL THEN task_state END AS to_state,
                CASE WHEN ends THEN bytes_received ELSE 0 END AS bytes_received,
                CASE WHEN ends THEN bytes_sent ELSE 0 END AS bytes_sent
            FROM happening
            """))),
        session_row AS (
            \(insertEventsOfSessions)
            UNION ALL
            SELECT c.session_id, c.last_sequence, c.last_sequence, 'session.events_pending',
                c.generation, c.occurred_at, NULL::jsonb, pending.details
            FROM counter c \(joinPending("""
                SELECT h.task_id, h.task_state FROM happening h
                WHERE h.session_id = c.session_id AND h.\(needsClient)
                """))
            WHERE c.is_pending
        ),
        \(SessionStore.endSessions)
        """

    /// The CTEs that change the counters of sessions.
    ///
    /// Expects `change(session_id, events, ended, asks, is_heard_of, completed, failed,
    /// cancelled)`; offers `counter`.
    static let countChanges: Query = """
        -- Every statement locks in this order: two flushes over the same sessions never deadlock.
        -- The counters' decisions are made from values read under their lock.
        locked AS MATERIALIZED (
            SELECT p.session_id, p.last_sequence AS base,
                c.ended > 0 AND p.outstanding = c.ended AS is_drained,
                c.ended > 0 AND p.outstanding = c.ended AND p.is_finishing AS is_ended,
                c.asks AND NOT p.is_pending_told AS is_pending
            FROM session_progress p JOIN change c ON p.session_id = ANY (ARRAY[c.session_id])
            ORDER BY c.session_id FOR UPDATE OF p
        ),
        counter AS (
            UPDATE session_progress p SET
                outstanding = p.outstanding - c.ended,
                completed = p.completed + c.completed,
                failed = p.failed + c.failed,
                cancelled = p.cancelled + c.cancelled,
                last_sequence = l.base + c.events + l.is_drained::int + l.is_ended::int
                    + l.is_pending::int,
                is_invalidated = p.is_invalidated OR l.is_ended,
                is_finishing = p.is_finishing AND NOT l.is_ended,
                is_pending_told = c.asks OR p.is_pending_told AND NOT c.is_heard_of
            FROM change c JOIN locked l USING (session_id)
            WHERE p.session_id = ANY (ARRAY[c.session_id])
            RETURNING p.session_id, p.generation, p.completed, p.failed, p.cancelled,
                -- The clock is read under the lock, so that time increases with the sequence.
                p.last_sequence, clock_timestamp() AS occurred_at, l.is_drained, l.is_ended,
                l.is_pending, l.base
        )
        """

    /// The statement that writes the events of sessions which a change has drained or ended;
    /// expects `counter`.
    static let insertEventsOfSessions: Query = """
        INSERT INTO event_run (
            session_id, last_sequence, first_sequence, kind, generation, occurred_at, summary,
            details)
        SELECT c.session_id, k.sequence, k.sequence, 'session.events_finished', c.generation,
            c.occurred_at, jsonb_build_object(
                'completed', c.completed, 'failed', c.failed, 'cancelled', c.cancelled), NULL::jsonb
        FROM counter c CROSS JOIN LATERAL (
            SELECT c.last_sequence - c.is_ended::int AS sequence) k
        WHERE c.is_drained
        UNION ALL
        SELECT session_id, last_sequence, last_sequence, 'session.invalidated', generation,
            occurred_at, NULL::jsonb, NULL::jsonb
        FROM counter WHERE is_ended
        """

    /// Returns the statement that writes one event about no task for each row of `events`:
    /// `(session_id, sequence, kind, generation, occurred_at, details)`.
    static func insertEvents(_ events: Query) -> Query {
        """
        INSERT INTO event_run (
            session_id, last_sequence, first_sequence, kind, generation, occurred_at, details)
        SELECT v.session_id, v.sequence, v.sequence, v.kind, v.generation, v.occurred_at, v.details
        FROM (\(events)) v (session_id, sequence, kind, generation, occurred_at, details)
        """
    }
}
