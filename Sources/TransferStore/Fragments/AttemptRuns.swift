import Foundation
import Postgres
import TransferModel

/// SQL for attempts that one claim began: rows of `attempt_run`, each with attempts of which
/// nothing differs but the fence and the last bits of the task's identifier.
///
/// Rows of `attempt_run` are locked before rows of `attempt`, and in the order of their fences.
enum AttemptRuns {
    /// The table; one row has an attempt for each value of the seven bits in which the identifiers
    /// differ, and is a quarter of a page then.
    static let runs = FenceRuns(
        table: "attempt_run",
        stem: "run",
        lengthMax: 128,
        nothing: "0::bit(128)",
        columns: """
            \(FenceRuns.worker(of: "r")) AS worker, r.number, r.session_id, r.host_key, r.started_at,
            r.began_at
            """
    )

    /// Whether a row of the view `running_attempt` is of this worker; serves both indexes.
    static func areOf(_ incarnation: Int32) -> Query {
        let fences = Fence.all(of: incarnation)
        return """
            worker = \(incarnation)
                AND first_fence BETWEEN \(fences.lowerBound) AND \(fences.upperBound)
            """
    }

    /// Whether it is of a worker that was registered before this one.
    static func areOfEarlier(than incarnation: Int32) -> Query {
        "worker < \(incarnation) AND first_fence < \(Fence.all(of: incarnation).lowerBound)"
    }

    /// Whether it is of a worker that was registered after this one.
    static func areOfLater(than incarnation: Int32) -> Query {
        "worker > \(incarnation) AND first_fence > \(Fence.all(of: incarnation).upperBound)"
    }

    /// Returns the query that gives fences, from `first` on, to the tasks of `runs` of the queue,
    /// `(session_id, host_key, attempt, began_at, last_task_id, task_ids)`.
    ///
    /// Those of a run follow each other, and so do those of all runs that are to share a row.
    static func number(_ runs: Query, from first: Fence) -> Query {
        """
        SELECT q.session_id, q.host_key, (q.attempt + 1)::smallint AS number,
            coalesce(q.began_at, statement_timestamp()) AS began_at, q.block,
            -- A copy, for the queue's may be compressed, and each look at an element would undo
            -- that.
            q.task_ids[:] AS task_ids,
            q.last_task_id, get_byte(uuid_send(q.task_ids[1]), 15) AS first_byte,
            \(first.rawValue) + sum(cardinality(q.task_ids)) OVER in_order
                - cardinality(q.task_ids) AS first_fence,
            count(*) OVER alike > 1 AS is_shared,
            -- Mostly none has left a part, which one look tells for the whole run: no other task is
            -- between its first and its last.
            (SELECT true FROM partial x
            WHERE x.task_id BETWEEN q.task_ids[1] AND q.last_task_id LIMIT 1) AS has_parts
        FROM (SELECT *, \(FenceRuns.block(of: "last_task_id")) AS block FROM (\(runs)) q) q
        WINDOW alike AS (PARTITION BY q.session_id, q.host_key, q.attempt, q.began_at, q.block),
            in_order AS (
                ORDER BY q.session_id, q.host_key, q.attempt, q.began_at, q.block, q.last_task_id
                ROWS UNBOUNDED PRECEDING)
        """
    }

    /// The statement that stores the attempts of a CTE `run` of ``number(_:from:)``, without those
    /// of a CTE `part`, `(fence)`.
    static let insert: Query = """
        INSERT INTO attempt_run (
            first_fence, session_id, host_key, number, began_at, block, task_ids, gone)
        SELECT k.first_fence, k.session_id, k.host_key, k.number, k.began_at, k.block, k.task_ids,
            k.gone
        FROM (
            SELECT s.*, \(runs.full("cardinality(s.task_ids)")) | coalesce((
                SELECT bit_or(set_bit(\(runs.nothing), (p.fence - s.first_fence)::int, 1)) FROM part p
                WHERE p.fence >= s.first_fence AND p.fence < s.first_fence + cardinality(s.task_ids)
            ), \(runs.nothing)) AS gone
            FROM (
                SELECT first_fence, session_id, host_key, number, began_at, block, task_ids
                FROM run WHERE NOT is_shared
                UNION ALL
                SELECT min(r.first_fence), r.session_id, r.host_key, r.number, r.began_at, r.block,
                    array_agg(k.task_id ORDER BY r.first_fence, k.place)
                FROM run r
                CROSS JOIN LATERAL unnest(r.task_ids) WITH ORDINALITY AS k (task_id, place)
                WHERE r.is_shared
                GROUP BY r.session_id, r.host_key, r.number, r.began_at, r.block
            ) s
        ) k
        WHERE k.gone <> \(runs.everything)
        """

    /// Selects the attempts of tasks `t` of a CTE `target` that meet `condition`, for
    /// ``FenceRuns/take(_:if:)``.
    static func selectOfTargets(if condition: Query) -> Query {
        """
        SELECT t.id AS task_id, r.first_fence + r.place_in_run AS fence, r.first_fence,
            r.place_in_run
        FROM target t CROSS JOIN LATERAL (\(runs.find("r.first_fence, r.place_in_run"))) r
        WHERE \(condition)
        """
    }

    /// Selects the attempt of a task `t`, wherever it is; no row if it has none.
    static let selectAttempt: Query = """
        SELECT x.task_id, x.number, x.started_at, x.bytes_received, x.bytes_expected, x.bytes_sent,
            x.bytes_to_send, x.bytes_per_second
        FROM attempt x WHERE x.task_id = t.id
        UNION ALL
        \(runs.find("t.id, r.number, r.started_at, 0, NULL, 0, NULL, 0"))
        LIMIT 1
        """

    /// Returns the statement that locks the attempts of tasks with rows of their own, so that the
    /// statements after it see what checkpoints have stored.
    static func lockRows(of tasks: [TaskID]) -> Query {
        """
        SELECT FROM attempt a WHERE a.task_id = ANY (\(tasks.map(\.uuid)))
        ORDER BY a.task_id FOR UPDATE
        """
    }

    private static let insertRows: Query = """
        INSERT INTO attempt (
            task_id, fence, worker, number, session_id, host_key, started_at, began_at)
        """

    /// Returns the statement that gives attempts rows of their own, so that these can be changed;
    /// it comes before any other statement of its transaction that locks an attempt.
    static func separate(_ tasks: [TaskID], _ fences: [Fence]) -> Query {
        let (tasks, fences) = (tasks.map(\.uuid), fences.map(\.rawValue))
        let groups = FenceRuns.Groups(tasks, fences)
        return """
            WITH item AS MATERIALIZED (
                SELECT * FROM unnest(\(tasks), \(fences), \(groups.numbers))
                    AS i (task_id, fence, run_group)
            ),
            \(runs.takeItems(in: groups))
            \(insertRows)
            SELECT task_id, fence, worker, number, session_id, host_key, started_at, began_at
            FROM from_run
            """
    }

    /// Returns the statement that gives attempts of workers that are not registered rows of their
    /// own, those of `count` runs, if `condition` is met.
    static func separateOrphans(count: Int, if condition: Query) -> Query {
        """
        WITH orphan AS (
            DELETE FROM attempt_run r WHERE r.first_fence = ANY (ARRAY(
                SELECT x.first_fence FROM attempt_run x
                WHERE \(condition) AND NOT EXISTS (
                    SELECT 1 FROM worker w WHERE w.incarnation = \(FenceRuns.worker(of: "x")))
                ORDER BY x.first_fence LIMIT \(count) FOR UPDATE))
            RETURNING r.*
        )
        \(insertRows)
        SELECT k.task_id, r.first_fence + k.place - 1, \(FenceRuns.worker(of: "r")), r.number,
            r.session_id, r.host_key, r.started_at, r.began_at
        FROM orphan r
        CROSS JOIN LATERAL unnest(r.task_ids) WITH ORDINALITY AS k (task_id, place)
        WHERE get_bit(r.gone, k.place::integer - 1) = 0
        """
    }
}
