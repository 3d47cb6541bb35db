import Foundation
import Postgres
import TransferModel

/// SQL for attempts that one claim began: rows of `attempt_run`, each with attempts of which nothing
/// differs but the fence and the last bits of the task's identifier.
///
/// Rows of `attempt_run` are locked before rows of `attempt`, and in the order of their fences.
enum AttemptRuns {
    /// The maximum number of attempts in a run, one for each value of the seven bits in which the
    /// identifiers differ; with that many a row is a quarter of a page.
    static let lengthMax = 128

    private static let bits = RunBits(table: "attempt_run", stem: "run", nothing: "0::bit(128)")

    /// What the identifiers of the tasks in a run have in common: all but the last seven bits.
    static func block(of task: Query) -> Query {
        "set_byte(uuid_send(\(task)), 15, get_byte(uuid_send(\(task)), 15) & 128)"
    }

    /// The worker of a run, which is a part of its fences.
    static func worker(of run: Query) -> Query { "(\(run).first_fence >> 40)::integer" }

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
            -- A copy, for the queue's may be compressed, and each look at an element would undo that.
            q.task_ids[:] AS task_ids,
            q.last_task_id, get_byte(uuid_send(q.task_ids[1]), 15) AS first_byte,
            \(first.rawValue) + sum(cardinality(q.task_ids)) OVER in_order
                - cardinality(q.task_ids) AS first_fence,
            count(*) OVER alike > 1 AS is_shared,
            -- Mostly none has left a part, which one look tells for the whole run: no other task is
            -- between its first and its last.
            (SELECT true FROM partial x
            WHERE x.task_id BETWEEN q.task_ids[1] AND q.last_task_id LIMIT 1) AS has_parts
        FROM (SELECT *, \(block(of: "last_task_id")) AS block FROM (\(runs)) q) q
        WINDOW alike AS (PARTITION BY q.session_id, q.host_key, q.attempt, q.began_at, q.block),
            in_order AS (
                ORDER BY q.session_id, q.host_key, q.attempt, q.began_at, q.block, q.last_task_id
                ROWS UNBOUNDED PRECEDING)
        """
    }

    /// The statement that stores the attempts of a CTE `run` of ``number(_:from:)``, without those of a
    /// CTE `part`, `(fence)`.
    static let insert: Query = """
        INSERT INTO attempt_run (
            first_fence, session_id, host_key, number, began_at, block, task_ids, gone)
        SELECT k.first_fence, k.session_id, k.host_key, k.number, k.began_at, k.block, k.task_ids,
            k.gone
        FROM (
            SELECT s.*, \(bits.full("cardinality(s.task_ids)")) | coalesce((
                SELECT bit_or(set_bit(\(bits.nothing), (p.fence - s.first_fence)::int, 1)) FROM part p
                WHERE p.fence >= s.first_fence AND p.fence < s.first_fence + cardinality(s.task_ids)
            ), \(bits.nothing)) AS gone
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
        WHERE k.gone <> \(bits.everything)
        """

    /// Attempts in groups, each of which is mostly in one run: its fences differ as the identifiers of
    /// its tasks do.
    struct Groups {
        /// The fence of the first of each group.
        private(set) var leaders: [Int64] = []
        /// The group of each attempt, from 1.
        private(set) var numbers: [Int32] = []

        init(_ tasks: [UUID], _ fences: [Int64]) {
            for index in tasks.indices {
                if index == 0
                    || !tasks[index].isInBlock(of: tasks[index - 1])
                    || fences[index] <= fences[index - 1]
                    || fences[index] - fences[index - 1]
                        != Int64(tasks[index].uuid.15) - Int64(tasks[index - 1].uuid.15)
                {
                    leaders.append(fences[index])
                }
                numbers.append(Int32(leaders.count))
            }
        }
    }

    /// The CTEs of ``take(_:)`` for the items of a CTE `item`, `(task_id, fence, run_group, …)`, that
    /// meet `condition`.
    ///
    /// One look finds the run of a group. An item that is not in it is looked for by itself.
    static func takeItems(in groups: Groups, if condition: Query = "true") -> Query {
        """
        group_run AS MATERIALIZED (
            SELECT array_agg(l.fence ORDER BY l.place) AS leaders,
                array_agg(coalesce(r.first_fence, 0) ORDER BY l.place) AS firsts,
                array_agg(coalesce(r.end_fence, 0) ORDER BY l.place) AS ends
            FROM unnest(\(groups.leaders)) WITH ORDINALITY AS l (fence, place)
            LEFT JOIN LATERAL (\(run(of: "l.fence"))) r ON true
        ),
        \(take("""
            SELECT i.*, (i.fence - i.first_fence)::int AS place_in_run
            FROM (
                -- Not merged with the query around it, which would do this twice.
                SELECT i.*, CASE
                    WHEN i.fence >= \(ofGroup("firsts")) AND i.fence < \(ofGroup("ends"))
                        THEN \(ofGroup("firsts"))
                    WHEN i.fence <> \(ofGroup("leaders"))
                        THEN (SELECT r.first_fence FROM (\(run(of: "i.fence"))) r)
                    END AS first_fence
                FROM item i WHERE \(condition) OFFSET 0
            ) i WHERE i.first_fence IS NOT NULL
            """))
        """
    }

    /// Returns the element of an array of `group_run` that belongs to an item `i`.
    private static func ofGroup(_ array: Query) -> Query {
        "(SELECT \(array) FROM group_run)[i.run_group]"
    }

    /// Returns the query for the only run that may have the attempt with a fence.
    private static func run(of fence: Query) -> Query {
        """
        SELECT one_run.first_fence, one_run.first_fence + cardinality(one_run.task_ids) AS end_fence
        FROM attempt_run one_run
        WHERE one_run.first_fence <= \(fence)
            AND one_run.first_fence > \(fence) - \(Int64(lengthMax))
        ORDER BY one_run.first_fence DESC LIMIT 1
        """
    }

    /// Returns the statement that locks the runs of attempts, for a transaction in which more than one
    /// statement takes some of them.
    static func lock(_ fences: [Fence]) -> Query {
        """
        SELECT FROM attempt_run r
        WHERE r.first_fence = ANY (ARRAY(
            SELECT r.first_fence FROM unnest(\(fences.map(\.rawValue))) AS i (fence)
            CROSS JOIN LATERAL (\(run(of: "i.fence"))) r))
        ORDER BY r.first_fence FOR UPDATE
        """
    }

    /// Selects the attempts of tasks `t` of a CTE `target` that meet `condition`, for ``take(_:)``.
    static func selectOfTargets(if condition: Query) -> Query {
        """
        SELECT t.id AS task_id, r.first_fence + r.place_in_run AS fence, r.first_fence,
            r.place_in_run
        FROM target t CROSS JOIN LATERAL (\(find("r.first_fence, r.place_in_run"))) r
        WHERE \(condition)
        """
    }

    /// Returns the query for `columns` of the run `r` that holds the attempt of a task `t`, at
    /// `r.place_in_run` from 0; no row if none does.
    static func find(_ columns: Query) -> Query {
        """
        SELECT \(columns) FROM (
            SELECT one_run.*, array_position(one_run.task_ids, t.id) - 1 AS place_in_run
            FROM attempt_run one_run
            WHERE one_run.session_id = t.session_id AND one_run.block = \(block(of: "t.id"))
        ) r
        WHERE get_bit(r.gone, r.place_in_run) = 0
        """
    }

    /// Selects the attempt of a task `t`, wherever it is; no row if it has none.
    static let selectAttempt: Query = """
        SELECT x.task_id, x.number, x.started_at, x.bytes_received, x.bytes_expected, x.bytes_sent,
            x.bytes_to_send, x.bytes_per_second
        FROM attempt x WHERE x.task_id = t.id
        UNION ALL
        \(find("t.id, r.number, r.started_at, 0, NULL, 0, NULL, 0"))
        LIMIT 1
        """

    /// The CTEs that take the attempts that `chosen` selects,
    /// `(task_id, fence, first_fence, place_in_run, …)`, out of their runs; they offer `from_run`:
    /// what was selected with `(worker, number, session_id, host_key, started_at, began_at)`.
    ///
    /// Two statements that take attempts out of the same run follow each other, and each sees what
    /// the other has left.
    static func take(_ chosen: Query) -> Query {
        """
        chosen_of_run AS MATERIALIZED (\(chosen)),
        locked_run AS MATERIALIZED (
            SELECT r.* FROM attempt_run r
            WHERE r.first_fence = ANY (ARRAY(SELECT c.first_fence FROM chosen_of_run c))
            ORDER BY r.first_fence FOR UPDATE
        ),
        from_run AS MATERIALIZED (
            SELECT c.*, \(worker(of: "r")) AS worker, r.number, r.session_id, r.host_key,
                r.started_at, r.began_at
            FROM chosen_of_run c JOIN locked_run r USING (first_fence)
            WHERE r.task_ids[c.place_in_run + 1] = c.task_id
                AND get_bit(r.gone, c.place_in_run) = 0
        ),
        \(bits.cut)
        """
    }

    private static let insertRows: Query = """
        INSERT INTO attempt (
            task_id, fence, worker, number, session_id, host_key, started_at, began_at)
        """

    /// Returns the statement that gives attempts rows of their own, so that these can be changed; it
    /// comes before any other statement of its transaction that locks an attempt.
    static func separate(_ tasks: [TaskID], _ fences: [Fence]) -> Query {
        let (tasks, fences) = (tasks.map(\.uuid), fences.map(\.rawValue))
        let groups = Groups(tasks, fences)
        return """
            WITH item AS MATERIALIZED (
                SELECT * FROM unnest(\(tasks), \(fences), \(groups.numbers))
                    AS i (task_id, fence, run_group)
            ),
            \(takeItems(in: groups))
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
                    SELECT 1 FROM worker w WHERE w.incarnation = \(worker(of: "x")))
                ORDER BY x.first_fence LIMIT \(count) FOR UPDATE))
            RETURNING r.*
        )
        \(insertRows)
        SELECT k.task_id, r.first_fence + k.place - 1, \(worker(of: "r")), r.number, r.session_id,
            r.host_key, r.started_at, r.began_at
        FROM orphan r
        CROSS JOIN LATERAL unnest(r.task_ids) WITH ORDINALITY AS k (task_id, place)
        WHERE get_bit(r.gone, k.place::integer - 1) = 0
        """
    }
}
