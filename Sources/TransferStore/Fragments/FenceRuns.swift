import Foundation
import Postgres
import TransferModel

/// SQL for a table of runs: rows that each have several tasks of one worker, whose fences follow
/// each other and whose identifiers differ in their last seven bits alone.
///
/// A bit in `gone` tells that a task has left its row, or was never there. Fences of different rows
/// do not overlap, so that a fence tells the row and the place in it. Two statements that take
/// tasks out of the same row follow each other, and each sees what the other has left.
struct FenceRuns {
    /// The name of the table, whose key is `first_fence`.
    let table: Query
    /// What the names of the CTEs have in common.
    let stem: Query
    /// The maximum number of tasks in a row.
    let lengthMax: Int
    /// The bits of a row that has so many.
    let nothing: Query
    /// What is offered of a row `r` for a task `c` that is taken out of it.
    let columns: Query

    /// The bits of a row of which nothing is left.
    var everything: Query { "(~(\(nothing)))" }

    /// Returns the bits of a row with so many tasks.
    func full(_ length: Query) -> Query { "(\(everything) >> \(length))" }

    /// What the identifiers of the tasks in a row have in common: all but the last seven bits.
    static func block(of task: Query) -> Query {
        "set_byte(uuid_send(\(task)), 15, get_byte(uuid_send(\(task)), 15) & 128)"
    }

    /// The worker of a row, which is a part of its fences.
    static func worker(of run: Query) -> Query { "(\(run).first_fence >> 40)::integer" }

    /// Tasks in groups, each of which is mostly in one row.
    struct Groups {
        /// The fence of the first of each group.
        private(set) var leaders: [Int64] = []
        /// The group of each task, from 1.
        private(set) var numbers: [Int32] = []

        /// Groups tasks in one block with fences that differ as their identifiers do, or, if there
        /// is a `length`, that follow each other up to the next multiple of it.
        init(_ tasks: [UUID], _ fences: [Int64], length: Int? = nil) {
            for index in tasks.indices {
                if index == 0 || !tasks[index].isInBlock(of: tasks[index - 1])
                    || !Self.isNext(
                        fences[index],
                        after: fences[index - 1],
                        distance: Int64(tasks[index].uuid.15) - Int64(tasks[index - 1].uuid.15),
                        length: length.map { Int64($0) }
                    )
                {
                    leaders.append(fences[index])
                }
                numbers.append(Int32(leaders.count))
            }
        }

        private static func isNext(
            _ fence: Int64,
            after previous: Int64,
            distance: Int64,
            length: Int64?
        ) -> Bool {
            guard let length else { return fence > previous && fence - previous == distance }
            return fence == previous + 1 && fence / length == previous / length
        }
    }

    /// The CTEs of ``take(_:if:)`` for the items of a CTE `item`, `(task_id, fence, run_group, …)`,
    /// that meet `condition`.
    ///
    /// One look finds the row of a group. An item that is not in it is looked for by itself.
    func takeItems(in groups: Groups, if condition: Query = "true") -> Query {
        """
        group_of_\(stem) AS MATERIALIZED (
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

    /// Returns the element of an array of `group_of_…` that belongs to an item `i`.
    private func ofGroup(_ array: Query) -> Query {
        "(SELECT \(array) FROM group_of_\(stem))[i.run_group]"
    }

    /// Returns the query for the only row that may have a fence.
    func run(of fence: Query) -> Query {
        """
        SELECT one_run.first_fence, one_run.first_fence + cardinality(one_run.task_ids) AS end_fence
        FROM \(table) one_run
        WHERE one_run.first_fence <= \(fence)
            AND one_run.first_fence > \(fence) - \(Int64(lengthMax))
        ORDER BY one_run.first_fence DESC LIMIT 1
        """
    }

    /// Returns the query for `columns` of the row `r` that holds a task `t`, at `r.place_in_run`
    /// from 0; no row if none does.
    func find(_ columns: Query) -> Query {
        """
        SELECT \(columns) FROM (
            SELECT one_run.*, array_position(one_run.task_ids, t.id) - 1 AS place_in_run
            FROM \(table) one_run
            WHERE one_run.session_id = t.session_id AND one_run.block = \(Self.block(of: "t.id"))
        ) r
        WHERE get_bit(r.gone, r.place_in_run) = 0
        """
    }

    /// The CTEs that take the tasks that `chosen` selects, `(task_id, fence, first_fence,
    /// place_in_run, …)`, out of their rows, where such a `c` and its row `r` meet `condition`;
    /// they offer `from_…`: what was selected with ``columns``.
    func take(_ chosen: Query, if condition: Query = "true") -> Query {
        """
        chosen_of_\(stem) AS MATERIALIZED (\(chosen)),
        locked_\(stem) AS MATERIALIZED (
            SELECT r.* FROM \(table) r
            WHERE r.first_fence = ANY (ARRAY(SELECT c.first_fence FROM chosen_of_\(stem) c))
            ORDER BY r.first_fence FOR UPDATE
        ),
        from_\(stem) AS MATERIALIZED (
            SELECT c.*, \(columns)
            FROM chosen_of_\(stem) c JOIN locked_\(stem) r USING (first_fence)
            WHERE r.task_ids[c.place_in_run + 1] = c.task_id
                AND get_bit(r.gone, c.place_in_run) = 0 AND \(condition)
        ),
        \(cut("""
            SELECT r.first_fence, r.gone | x.gone AS gone
            FROM (
                SELECT f.first_fence, bit_or(set_bit(\(nothing), f.place_in_run, 1)) AS gone
                FROM from_\(stem) f GROUP BY f.first_fence
            ) x JOIN locked_\(stem) r USING (first_fence)
            """))
        """
    }

    /// The CTEs that give rows the bits of `changed`, `(first_fence, gone)`, and remove those of
    /// which nothing is left.
    func cut(_ changed: Query) -> Query {
        """
        cut_\(stem) AS MATERIALIZED (\(changed)),
        \(stem)_gone AS (
            DELETE FROM \(table) r WHERE r.first_fence = ANY (ARRAY(
                SELECT x.first_fence FROM cut_\(stem) x WHERE x.gone = \(everything)))
        ),
        \(stem)_left AS (
            UPDATE \(table) r SET gone = x.gone FROM cut_\(stem) x
            WHERE r.first_fence = ANY (ARRAY[x.first_fence]) AND x.gone <> \(everything)
        )
        """
    }
}
