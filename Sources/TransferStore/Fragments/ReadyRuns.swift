import Postgres
import TransferModel

/// SQL for the queue: rows of `ready_run`, each with runnable tasks whose identifiers follow each
/// other and differ in their last seven bits alone.
///
/// So a run has at most 128 tasks, with which its row is a quarter of a page, and what is claimed
/// of it becomes one of ``AttemptRuns``.
enum ReadyRuns {
    /// Returns the query for `columns` of the run `r` that holds a task `t`; no row unless the task
    /// is queued.
    ///
    /// A run has the rank with which its tasks came into the queue, and a change of a task's rank
    /// beside that may have missed it. So a task that is not at its own rank, nor anywhere else, is
    /// looked for at each other rank of its flow.
    static func select(_ columns: Query) -> Query {
        """
        SELECT \(columns) FROM (
            \(run(at: "t.priority_rank"))
            UNION ALL
            (
                WITH RECURSIVE rank AS (
                    -- Before the first one, from which each look-up skips to the next.
                    SELECT (-1)::smallint AS priority_rank WHERE \(isNowhereElse)
                    UNION ALL
                    SELECT n.priority_rank FROM rank k CROSS JOIN LATERAL (
                        SELECT one_run.priority_rank FROM ready_run one_run
                        WHERE one_run.host_key = t.host_key AND one_run.session_id = t.session_id
                            AND one_run.priority_rank > k.priority_rank
                        ORDER BY one_run.priority_rank LIMIT 1
                    ) n
                )
                SELECT x.* FROM rank k CROSS JOIN LATERAL (\(run(at: "k.priority_rank"))) x
            )
            -- With the first row no other rank is looked at.
            LIMIT 1
        ) r
        """
    }

    /// Returns the query for the run of that rank that holds a task `t`.
    private static func run(at rank: Query) -> Query {
        """
        SELECT y.* FROM (
            SELECT one_run.ctid AS row, one_run.priority_rank, one_run.attempt, one_run.began_at,
                one_run.task_ids
            FROM ready_run one_run
            WHERE one_run.host_key = t.host_key AND one_run.session_id = t.session_id
                AND one_run.priority_rank = \(rank) AND one_run.last_task_id >= t.id
            ORDER BY one_run.last_task_id LIMIT 1
        ) y
        WHERE t.id = ANY (y.task_ids)
        """
    }

    /// Whether a task `t` has no place but, perhaps, the queue.
    ///
    /// It is one look-up by key after the other, up to the first that finds the task.
    private static let isNowhereElse: Query = """
        coalesce(
            (SELECT o.task_id FROM outcome o WHERE o.task_id = t.id),
            (SELECT d.task_id FROM delayed d WHERE d.task_id = t.id),
            (SELECT h.task_id FROM held h WHERE h.task_id = t.id),
            (SELECT a.task_id FROM (\(AttemptRuns.selectAttempt)) a),
            -- With the session, both indexes that a plan may take lead to the one row.
            (SELECT q.task_id FROM asked q WHERE q.session_id = t.session_id AND q.task_id = t.id),
            (SELECT p.task_id FROM (\(RenameRuns.find)) p LIMIT 1)
        ) IS NULL
        """

    /// Returns the statement that puts `tasks` into the queue:
    /// `(host_key, session_id, priority_rank, task_id, attempt, began_at)`.
    ///
    /// Identifiers that differ in more than their last 48 bits count as not following each other.
    static func insert(_ tasks: Query) -> Query {
        """
        INSERT INTO ready_run (
            host_key, session_id, priority_rank, last_task_id, attempt, began_at, task_ids)
        SELECT p.host_key, p.session_id, p.priority_rank, p.task_ids[cardinality(p.task_ids)],
            p.attempt, p.began_at, p.task_ids
        FROM (
            SELECT k.host_key, k.session_id, k.priority_rank, k.attempt, k.began_at,
                array_agg(k.task_id ORDER BY k.place) AS task_ids
            FROM (
                SELECT i.*, row_number() OVER (
                    PARTITION BY i.host_key, i.session_id, i.priority_rank, i.attempt, i.began_at,
                        i.prefix
                    ORDER BY i.number) AS place
                FROM (
                    SELECT q.*, left(q.task_id::text, 23) AS prefix,
                        ('x' || right(q.task_id::text, 12))::bit(48)::bigint AS number
                    FROM (\(tasks)) q (
                        host_key, session_id, priority_rank, task_id, attempt, began_at)
                ) i
            ) k
            GROUP BY k.host_key, k.session_id, k.priority_rank, k.attempt, k.began_at, k.prefix,
                -- Without a gap, and in one block of 128 identifiers.
                k.number - k.place, k.number >> 7
        ) p
        """
    }

    /// The CTEs that take the tasks of `target(id, host_key, session_id, priority_rank)` out of the
    /// queue, whatever rank their runs have; they offer `from_ready(task_id, attempt, began_at)`.
    ///
    /// What is left of their runs becomes runs of its own, of the same rank. Two statements that
    /// take tasks out of the same run find it only once: ``lock(of:)`` comes first, unless the
    /// statement is repeated until no task is left.
    static let take: Query = """
        opened AS (
            DELETE FROM ready_run x WHERE x.ctid = ANY (ARRAY(
                SELECT r.row FROM target t CROSS JOIN LATERAL (\(select("r.row"))) r))
            RETURNING x.host_key, x.session_id, x.priority_rank, x.last_task_id, x.attempt,
                x.began_at, x.task_ids
        ),
        opened_task AS MATERIALIZED (
            SELECT o.host_key, o.session_id, o.priority_rank, o.last_task_id, o.attempt,
                o.began_at, k.task_id, k.place,
                -- As a value, so that it is a look-up in a hash table and no join.
                k.task_id IN (SELECT t.id FROM target t) AS is_target
            FROM opened o
            CROSS JOIN LATERAL unnest(o.task_ids) WITH ORDINALITY AS k (task_id, place)
        ),
        from_ready AS (
            SELECT o.task_id, o.attempt, o.began_at FROM opened_task o WHERE o.is_target
        ),
        rest_row AS (
            -- One of them may have the key of its run, which is gone before it is read here.
            INSERT INTO ready_run (
                host_key, session_id, priority_rank, last_task_id, attempt, began_at, task_ids)
            SELECT p.host_key, p.session_id, p.priority_rank, p.task_ids[cardinality(p.task_ids)],
                p.attempt, p.began_at, p.task_ids
            FROM (
                SELECT o.host_key, o.session_id, o.priority_rank, o.attempt, o.began_at,
                    array_agg(o.task_id ORDER BY o.place) AS task_ids
                FROM (
                    SELECT *, place - row_number() OVER (
                        PARTITION BY host_key, session_id, priority_rank, last_task_id
                        ORDER BY place) AS piece
                    FROM opened_task WHERE NOT is_target
                ) o
                GROUP BY o.host_key, o.session_id, o.priority_rank, o.last_task_id, o.attempt,
                    o.began_at, o.piece
            ) p
        )
        """

    /// Returns the statement that orders the rest of the transaction against all others that take
    /// tasks of `session` out of the queue, but not against claims.
    ///
    /// It is a statement of its own, so that the next one sees the runs as they then are, and comes
    /// before every other lock, so that there is no deadlock.
    static func lock(of session: Query) -> Query {
        """
        SELECT pg_advisory_xact_lock(
            \(AdvisoryLock.readyRuns.rawValue), hashtext((\(session))::text))
        """
    }
}
