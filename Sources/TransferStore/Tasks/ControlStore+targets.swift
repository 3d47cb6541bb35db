import Postgres
import TransferModel

/// Parts of statements that change the tasks of a CTE `target`; each offers `gone(task_id)`, those
/// that were changed.
///
/// Hot rows are looked up one by one: a join would be planned by how full the queue was when its
/// statistics were taken, and might read all of it for each page of a large session.
extension ControlStore {
    /// Takes the tasks of `target` out of the queue or off their workers, but not a running one
    /// that is not `is_idempotent`.
    static let suspendTargets: Query = """
        \(fromDelayed),
        \(ReadyRuns.take),
        \(fromAsked),
        \(revokeTargets("suspended", if: "t.is_idempotent")),
        gone AS (
            SELECT task_id, attempt, NULL::bigint AS bytes_received, state FROM from_delayed
            UNION ALL SELECT task_id, attempt, NULL, 'queued' FROM from_ready
            -- Stopped unharmed, so that the attempt does not count.
            UNION ALL SELECT task_id, number - 1, bytes_received, 'running' FROM from_attempt
            -- Last, because the counters come after the attempts.
            UNION ALL SELECT task_id, attempt, NULL, state FROM from_asked
        ),
        \(keptBytes(of: "SELECT g.task_id FROM gone g WHERE g.bytes_received IS NULL")),
        held_row AS (
            INSERT INTO held (task_id, attempt) SELECT task_id, attempt FROM gone
        ),
        happening AS (
            SELECT t.session_id, row_number() OVER (ORDER BY t.id) AS place,
                'task.suspended' AS kind, false AS ends,
                t.id AS task_id, g.state AS from_state,
                'suspended'::task_state AS task_state, g.attempt,
                coalesce(g.bytes_received, k.bytes_durable, 0) AS bytes_received,
                0::bigint AS bytes_sent, NULL::jsonb AS failure
            FROM gone g JOIN target t ON t.id = g.task_id
            LEFT JOIN kept_bytes k ON k.task_id = g.task_id
        ),
        \(EventRuns.recordHappenings),
        \(Fragment.wake)
        """

    /// Moves the suspended tasks of `target` whose row `h` in `held` meets `condition` to where
    /// they wait for their turn.
    static func resumeTargets(if condition: Query) -> Query {
        """
        from_held AS (
            DELETE FROM held h
            WHERE h.task_id = ANY (ARRAY(SELECT t.id FROM target t)) AND (\(condition))
            RETURNING h.task_id, h.attempt
        ),
        gone AS (
            SELECT h.task_id, h.attempt, t.session_id, t.host_key, t.priority_rank,
                t.earliest_begin_at, t.asks_to_begin,
                CASE WHEN t.earliest_begin_at > now() THEN 'scheduled'::task_state
                    ELSE 'queued'::task_state END AS state
            FROM from_held h JOIN target t ON t.id = h.task_id
        ),
        \(keptBytes(of: "SELECT g.task_id FROM gone g")),
        delayed_row AS (
            INSERT INTO delayed (
                task_id, due_at, attempt, host_key, session_id, priority_rank, asks_to_begin)
            SELECT task_id, earliest_begin_at, attempt, host_key, session_id, priority_rank,
                asks_to_begin
            FROM gone WHERE state = 'scheduled'
        ),
        ready_row AS (\(ReadyRuns.insert("""
            SELECT host_key, session_id, priority_rank, task_id, attempt, NULL::timestamptz
            FROM gone WHERE state = 'queued'
            """))),
        happening AS (
            SELECT g.session_id, row_number() OVER (ORDER BY g.task_id) AS place,
                'task.resumed' AS kind, false AS ends, g.task_id,
                'suspended'::task_state AS from_state, g.state AS task_state, g.attempt,
                coalesce(k.bytes_durable, 0) AS bytes_received, 0::bigint AS bytes_sent,
                NULL::jsonb AS failure
            FROM gone g LEFT JOIN kept_bytes k ON k.task_id = g.task_id
        ),
        \(EventRuns.recordHappenings),
        \(Fragment.wake)
        """
    }

    /// Selects the bytes that earlier attempts of `tasks` have left; offers
    /// `kept_bytes(task_id, bytes_durable)`.
    ///
    /// This is one look-up per task, in a table that has few of them.
    static func keptBytes(of tasks: Query) -> Query {
        """
        kept_bytes AS MATERIALIZED (
            SELECT x.task_id, x.bytes_durable FROM partial x
            WHERE x.task_id = ANY (ARRAY(\(tasks)))
        )
        """
    }

    private static let fromDelayed: Query = """
        from_delayed AS (
            DELETE FROM delayed x WHERE x.task_id = ANY (ARRAY(SELECT t.id FROM target t))
            RETURNING x.task_id, x.attempt, \(CountStore.state(ofDelayed: "x")) AS state
        )
        """

    /// Takes the questions of `target`, after the counters of their session, as whoever answers
    /// them does, but not before its attempts, whose ends lock those before the counters.
    private static let fromAsked: Query = """
        asked_counter AS MATERIALIZED (
            SELECT p.session_id FROM session_progress p
            WHERE p.session_id = ANY (ARRAY(
                SELECT q.session_id FROM asked q
                WHERE q.task_id = ANY (ARRAY(SELECT t.id FROM target t))))
            ORDER BY p.session_id FOR UPDATE
        ),
        from_asked AS (
            DELETE FROM asked x
            WHERE x.task_id = ANY (ARRAY(SELECT t.id FROM target t))
                AND (SELECT count(*) FROM asked_counter) > 0
            RETURNING x.task_id, x.attempt, \(CountStore.state(ofAsked: "x")) AS state
        )
        """

    /// Takes the attempts of `target` that match `condition` from their workers, which are told to
    /// stop; offers `from_attempt`.
    private static func revokeTargets(_ outcome: String, if condition: Query = "true") -> Query {
        """
        \(AttemptRuns.runs.take(AttemptRuns.selectOfTargets(if: condition))),
        -- In the order of the tasks, as ends lock them: a join might follow the order in which they
        -- were claimed, and the two would wait for each other.
        locked_attempt AS MATERIALIZED (
            SELECT a.task_id
            FROM (
                SELECT t.id FROM target t
                WHERE (\(condition)) AND t.id NOT IN (SELECT f.task_id FROM from_run f)
                ORDER BY t.id
            ) t
            CROSS JOIN LATERAL (
                SELECT a.task_id FROM attempt a WHERE a.task_id = t.id LIMIT 1 FOR UPDATE) a
        ),
        from_row AS (
            DELETE FROM attempt x
            WHERE x.task_id = ANY (ARRAY(SELECT a.task_id FROM locked_attempt a))
            RETURNING x.task_id, x.number, x.bytes_received, x.worker, x.fence, x.started_at,
                x.resumed_at_offset, x.bytes_sent
        ),
        from_attempt AS (
            SELECT task_id, number, 0::bigint AS bytes_received, worker, fence, started_at,
                NULL::bigint AS resumed_at_offset, 0::bigint AS bytes_sent
            FROM from_run
            UNION ALL SELECT * FROM from_row
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
    /// Their parts are abandoned, or kept for another task under the name `resumeData`.
    static func cancelTargets(
        producing resumeData: ResumeDataID?,
        because cause: Query = "NULL"
    ) -> Query {
        """
        from_held AS (
            DELETE FROM held x WHERE x.task_id = ANY (ARRAY(SELECT t.id FROM target t))
            RETURNING x.task_id, x.attempt
        ),
        \(fromDelayed),
        \(ReadyRuns.take),
        \(fromAsked),
        \(revokeTargets("cancelled")),
        gone AS (
            SELECT task_id, attempt, NULL::bigint AS bytes_received,
                'suspended'::task_state AS state
            FROM from_held
            UNION ALL SELECT task_id, attempt, NULL, state FROM from_delayed
            UNION ALL SELECT task_id, attempt, NULL, 'queued' FROM from_ready
            UNION ALL SELECT task_id, number, bytes_received, 'running' FROM from_attempt
            -- Last, because the counters come after the attempts.
            UNION ALL SELECT task_id, attempt, NULL, state FROM from_asked
        ),
        from_partial AS (
            DELETE FROM partial x WHERE x.task_id = ANY (ARRAY(SELECT g.task_id FROM gone g))
            RETURNING x.*
        ),
        resume_data_row AS (
            INSERT INTO resume_data (id, tenant_id, source_task_id, \(StoredPart.columns))
            SELECT \(resumeData?.uuid), t.tenant_id, coalesce(x.source_task_id, x.task_id),
                \(StoredPart.columns(of: "x"))
            FROM from_partial x JOIN target t ON t.id = x.task_id
            WHERE \(resumeData?.uuid)::uuid IS NOT NULL
        ),
        abandoned_row AS (
            INSERT INTO abandoned_part (fence, task_id, source_task_id)
            SELECT x.part_fence, x.task_id, x.source_task_id FROM from_partial x
            WHERE \(resumeData?.uuid)::uuid IS NULL
            ON CONFLICT (fence) DO NOTHING
        ),
        -- What waited has what earlier attempts have left.
        at_end AS MATERIALIZED (
            SELECT t.id, t.session_id, t.generation, g.attempt, g.state,
                coalesce(g.bytes_received, x.bytes_durable, 0) AS bytes_received
            FROM gone g JOIN target t ON t.id = g.task_id
            LEFT JOIN from_partial x ON x.task_id = g.task_id
        ),
        outcome_row AS (
            INSERT INTO outcome (
                task_id, session_id, generation, state, attempt, bytes_received, failure)
            SELECT id, session_id, generation, 'cancelled', attempt, bytes_received,
                \(cause)::jsonb
            FROM at_end
        ),
        happening AS (
            SELECT session_id, row_number() OVER (ORDER BY id) AS place,
                'task.cancelled' AS kind, true AS ends, id AS task_id, state AS from_state,
                'cancelled'::task_state AS task_state, attempt, bytes_received,
                0::bigint AS bytes_sent, \(cause)::jsonb AS failure
            FROM at_end
        ),
        \(EventRuns.recordHappenings),
        \(Fragment.wake)
        """
    }
}
