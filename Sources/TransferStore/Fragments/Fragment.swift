import Postgres
import TransferModel

/// The SQL that statements of several stores share.
enum Fragment {}

/// Parts of statements; each names the CTEs it expects.
extension Fragment {
    /// Returns whether a task asks its client before it begins, by its own options or, without any,
    /// those of its session.
    static func asksToBegin(task: Query, session: Query) -> Query {
        """
        coalesce((\(task)->>'asks_to_begin')::boolean,
            (\(session)->>'asks_to_begin')::boolean, false)
        """
    }

    /// Whether the origin may see the request of a task `t` in its session `s` twice, as in
    /// `TaskClaim.isIdempotent`.
    static let isIdempotent: Query = """
        coalesce((t.options->>'idempotent')::boolean, (s.options->>'idempotent')::boolean,
            t.method IS NULL OR t.method = ANY (\(TransferRequest.idempotentMethods)))
        """

    /// The CTE that makes the deliveries of sessions due whose events a statement writes.
    ///
    /// Expects `counter(session_id, base)`, whose row lock on the session orders this before or
    /// after the release of a delivery. A pair that is already due is locked but not written again.
    static let wake: Query = wake(of: "true")

    /// Returns ``wake`` for only those subscriptions `b` for which `condition` is true.
    static func wake(of condition: Query) -> Query {
        """
        wake AS (
            INSERT INTO delivery (subscription_id, session_id, acknowledged_sequence, due_at)
            SELECT b.id, c.session_id, c.base, now()
            FROM counter c
            CROSS JOIN LATERAL (
                SELECT tenant_id, client, identifier FROM session WHERE id = c.session_id LIMIT 1
            ) s
            CROSS JOIN LATERAL (\(selectSubscriptions("b.id", where: condition))) b
            ORDER BY c.session_id, b.id
            ON CONFLICT (subscription_id, session_id)
            DO UPDATE SET due_at = now() WHERE delivery.due_at IS NULL
        )
        """
    }

    /// Whether a session `s` that is found by its key is living.
    ///
    /// The form keeps the planner from the partial index of living sessions: a plan made while
    /// there were few would read all of them for each look-up.
    static let isLivingByKey: Query = "num_nulls(s.invalidated_at) = 1"

    /// Whether a subscription `b` that is found by its key is living, in the same form.
    static let isLivingSubscriptionByKey: Query = "num_nulls(b.deleted_at) = 1"

    /// Returns the query for `columns` of the living subscriptions `b` to a session `s` for which
    /// `condition` is true.
    ///
    /// It makes three look-ups, however many subscriptions the tenant has for other sessions.
    static func selectSubscriptions(_ columns: Query, where condition: Query = "true") -> Query {
        """
        SELECT \(columns) FROM subscription b
        WHERE b.is_living AND b.tenant_id = s.tenant_id AND b.client IS NULL
            AND b.session_identifier IS NULL AND \(condition)
        UNION ALL
        SELECT \(columns) FROM subscription b
        WHERE b.is_living AND b.tenant_id = s.tenant_id AND b.client = s.client
            AND b.session_identifier IS NULL AND \(condition)
        UNION ALL
        SELECT \(columns) FROM subscription b
        WHERE b.is_living AND b.tenant_id = s.tenant_id AND b.client = s.client
            AND b.session_identifier = s.identifier COLLATE "C" AND \(condition)
        """
    }

    /// The CTEs that number and write events, and keep the counters.
    ///
    /// When no task is outstanding any more, they end the generation with
    /// `session.events_finished`: in the transaction that ended the last task, under the lock of
    /// the session's counters, hence exactly once. A session that is finishing ends then, and
    /// `session.invalidated` is its last event. A session whose tasks begin to need their client
    /// reports it once until the client acts.
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
                p.last_sequence, clock_timestamp() AS occurred_at, l.is_drained, l.is_ended, l.is_pending, l.base
        ),
        event_row AS (
            INSERT INTO event (
                session_id, sequence, kind, generation, occurred_at, task_id, task_state, attempt,
                bytes_received, failure)
            SELECT h.session_id,
                c.base + row_number() OVER (PARTITION BY h.session_id ORDER BY h.place),
                h.kind, c.generation, c.occurred_at, h.task_id, h.task_state, h.attempt, h.bytes_received,
                h.failure
            FROM happening h JOIN counter c USING (session_id)
        ),
        move_row AS (\(CountStore.recordMoves("""
            SELECT session_id, from_state, task_state AS to_state,
                CASE WHEN ends THEN bytes_received ELSE 0 END AS bytes_received,
                CASE WHEN ends THEN bytes_sent ELSE 0 END AS bytes_sent
            FROM happening WHERE from_state IS NOT NULL
            """))),
        session_row AS (
            INSERT INTO event (
                session_id, sequence, kind, generation, occurred_at, summary, details)
            SELECT session_id, last_sequence - is_ended::int, 'session.events_finished', generation,
                occurred_at, jsonb_build_object(
                    'completed', completed, 'failed', failed, 'cancelled', cancelled), NULL::jsonb
            FROM counter WHERE is_drained
            UNION ALL
            SELECT session_id, last_sequence, 'session.invalidated', generation, occurred_at,
                NULL::jsonb, NULL::jsonb
            FROM counter WHERE is_ended
            UNION ALL
            SELECT c.session_id, c.last_sequence, 'session.events_pending', c.generation,
                c.occurred_at, NULL::jsonb, pending.details
            FROM counter c \(joinPending("""
                SELECT h.task_id, h.task_state FROM happening h
                WHERE h.session_id = c.session_id AND h.\(needsClient)
                """))
            WHERE c.is_pending
        ),
        \(SessionStore.endSessions)
        """
}
