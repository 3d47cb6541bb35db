import Postgres
import TransferModel

/// SQL that statements of several stores share.
enum Fragment {}

/// Parts that several statements share; each names the CTEs it expects.
extension Fragment {
    /// Returns whether a task asks its client before it begins, by its own options or else its
    /// session's.
    static func asksToBegin(task: Query, session: Query) -> Query {
        """
        coalesce((\(task)->>'asks_to_begin')::boolean,
            (\(session)->>'asks_to_begin')::boolean, false)
        """
    }

    /// Whether the origin may see the request of a task `t` in its session `s` twice, as
    /// `TaskClaim.isIdempotent` says it.
    static let isIdempotent: Query = """
        coalesce((t.options->>'idempotent')::boolean, (s.options->>'idempotent')::boolean,
            t.method IS NULL OR t.method = ANY (\(TransferRequest.idempotentMethods)))
        """

    /// Makes the deliveries of sessions due whose events a statement writes.
    ///
    /// Expects `counter(session_id, base)`, whose row lock on the session orders this against the
    /// release of a delivery. A pair that is already due is locked but not written again.
    static let wake: Query = wake(of: "true")

    /// As ``wake``, but only of subscriptions `b` of which `condition` is true.
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

    /// Whether a session `s` that is found by its key lives.
    ///
    /// Put so that the partial index of those that live cannot serve: by a plan made for few of
    /// them all would be read for each.
    static let isLivingByKey: Query = "num_nulls(s.invalidated_at) = 1"

    /// The same of a subscription `b`.
    static let isLivingSubscriptionByKey: Query = "num_nulls(b.deleted_at) = 1"

    /// `columns` of the living subscriptions `b` to a session `s` of which `condition` is true.
    ///
    /// Three look-ups, however many subscriptions the tenant has for other sessions.
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

    /// Numbers and writes events, and keeps the counters.
    ///
    /// When nothing is outstanding any more, it ends the generation with `session.events_finished`:
    /// in the transaction that ended the last task, under the lock of the session's counters, hence
    /// exactly once. A session that was to be finished ends with it, one that was invalidated has
    /// its last event then, and one whose tasks begin to need their client tells it so, once until
    /// it acts.
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
        -- Locked in one order everywhere: two flushes over the same sessions never deadlock. What is
        -- decided by the counters is read under their lock.
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
                -- Read under the lock, so that time runs with the sequence.
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
