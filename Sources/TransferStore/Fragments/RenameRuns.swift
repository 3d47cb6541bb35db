import Postgres
import TransferModel

/// SQL for pending renames that one transaction began: rows of `rename_run`, each with renames of
/// attempts that one claim began.
///
/// Rows of `rename_run` are locked after those of attempts, and in the order of their fences. The view
/// `pending_rename` has every rename by itself.
enum RenameRuns {
    /// The maximum number of renames in a row, with which it mostly fits into a page as it is.
    private static let lengthMax = 32

    private static let bits = RunBits(
        table: "rename_run",
        stem: "rename",
        nothing: "0::bit(32)"
    )

    private static let into: Query = """
        INSERT INTO rename_run (
            first_fence, session_id, block, number, started_at, resumed_at_offset, task_ids, fences,
            part_fences, http_statuses, bytes_received, response_heads, inodes, inodes_born_at_ns,
            gone)
        """

    /// The elements of a row `r`, `k`, with places from 1.
    private static let elements: Query = """
        unnest(
            r.task_ids, r.fences, r.part_fences, r.http_statuses, r.bytes_received, r.response_heads,
            r.inodes, r.inodes_born_at_ns
        ) WITH ORDINALITY AS k (
            task_id, fence, part_fence, http_status, bytes_received, response_head, inode,
            inode_born_at_ns, place)
        """

    /// Returns a condition that the planner takes to be met by half of all rows.
    ///
    /// It takes an equation to be met by one in two hundred, so that it would expect one row at most,
    /// and compare each of one side with each of the other instead of hashing them.
    private static func often(_ condition: Query) -> Query { "coalesce(\(condition), false)" }

    /// Whether the element `k` of a row `r` is still there.
    private static let isThere = often("get_bit(r.gone, (k.place - 1)::int) = 0")

    /// The statement that stores the pending renames of a CTE `moved`: `(task_id, fence, part_fence,
    /// number, session_id, http_status, bytes_received, response_head, started_at,
    /// resumed_at_offset, inode, inode_born_at_ns)`, with the run of attempts that had it,
    /// `first_fence`, and the place in the batch from 1, `row`.
    ///
    /// An attempt with a row of its own, of which `first_fence` is NULL, has one here too.
    static let insert: Query = """
        \(into)
        SELECT s.first_fence, s.session_id, \(AttemptRuns.block(of: "s.task_ids[1]")), s.number,
            s.started_at, s.resumed_at_offset, s.task_ids, s.fences, s.part_fences, s.http_statuses,
            s.bytes_received, s.response_heads, s.inodes, s.inodes_born_at_ns,
            \(bits.full("cardinality(s.task_ids)"))
        FROM (
            SELECT min(m.fence) AS first_fence, m.session_id, m.number, m.started_at,
                m.resumed_at_offset, array_agg(m.task_id) AS task_ids, array_agg(m.fence) AS fences,
                array_agg(m.part_fence) AS part_fences, array_agg(m.http_status) AS http_statuses,
                array_agg(m.bytes_received) AS bytes_received,
                array_agg(m.response_head) AS response_heads, array_agg(m.inode) AS inodes,
                array_agg(m.inode_born_at_ns) AS inodes_born_at_ns
            FROM moved m
            GROUP BY m.session_id, m.number, m.started_at, m.resumed_at_offset, m.first_fence,
                CASE WHEN m.first_fence IS NULL THEN -m.row ELSE m.row / \(Int64(lengthMax)) END
        ) s
        """

    /// The CTE that finds the pending renames with some of these fences, `candidate_rename (task_id,
    /// fence, first_fence, is_alone)`, and others between them.
    ///
    /// Each range of fences is one look-up, because of its `LIMIT`, whatever the statistics say. What
    /// a worker ends together are mostly fences that nearly follow each other.
    static func candidates(for fences: [Int64]) -> Query {
        let ranges = ranges(of: fences)
        return """
            candidate_rename AS MATERIALIZED (
                SELECT k.task_id, k.fence, r.first_fence, cardinality(r.task_ids) = 1 AS is_alone
                FROM unnest(\(ranges.map(\.lowerBound)), \(ranges.map(\.upperBound))) AS x (low, high)
                CROSS JOIN LATERAL (
                    SELECT * FROM rename_run one_run
                    WHERE one_run.first_fence BETWEEN x.low AND x.high
                    ORDER BY one_run.first_fence LIMIT x.high - x.low + 1
                ) r
                CROSS JOIN LATERAL unnest(r.task_ids, r.fences)
                    WITH ORDINALITY AS k (task_id, fence, place)
                WHERE \(isThere)
            )
            """
    }

    /// Returns ranges, none of which overlap, that have the key of every row with one of `fences`.
    ///
    /// The fences of a row are those of one run of attempts, and so differ by less than its length.
    private static func ranges(of fences: [Int64]) -> [ClosedRange<Int64>] {
        let width = Int64(AttemptRuns.lengthMax)
        var ranges: [ClosedRange<Int64>] = []
        for fence in fences.sorted() {
            if let last = ranges.last, fence - last.upperBound <= width {
                ranges[ranges.count - 1] = last.lowerBound...fence
            } else {
                ranges.append((fence - width + 1)...fence)
            }
        }
        return ranges
    }

    /// The CTEs that take the pending renames of the items of a CTE `item`, `(task_id, fence, …)`,
    /// out of their rows, if an item `i` and its candidate `c` meet `condition`.
    ///
    /// They offer `from_rename`: the item with `(part_fence, number, session_id, http_status,
    /// bytes_whole, response_head, started_at, resumed_at_offset)`.
    static func takeItems(_ fences: [Int64], if condition: Query) -> Query {
        """
        \(candidates(for: fences)),
        chosen_rename AS MATERIALIZED (
            SELECT i.*, c.first_fence
            FROM item i JOIN candidate_rename c USING (fence)
            WHERE \(often("c.task_id = i.task_id AND (\(condition))"))
        ),
        locked_rename AS MATERIALIZED (
            SELECT r.* FROM rename_run r
            WHERE r.first_fence = ANY (ARRAY(SELECT c.first_fence FROM chosen_rename c))
            ORDER BY r.first_fence FOR UPDATE
        ),
        from_rename AS MATERIALIZED (
            SELECT c.*, e.place_in_run, e.part_fence, e.number, e.session_id, e.http_status,
                e.bytes_whole, e.response_head, e.started_at, e.resumed_at_offset
            FROM chosen_rename c JOIN (
                SELECT k.fence, (k.place - 1)::int AS place_in_run, k.part_fence, r.number,
                    r.session_id, k.http_status, k.bytes_received AS bytes_whole, k.response_head,
                    r.started_at, r.resumed_at_offset
                FROM locked_rename r CROSS JOIN LATERAL \(elements)
                -- Not merged with the query around it, which would do this for each item.
                WHERE \(isThere) OFFSET 0
            ) e USING (fence)
        ),
        \(bits.cut)
        """
    }

    /// Returns the query for the pending rename of a task `t`; no row if it has none.
    static let find: Query = """
        SELECT r.task_ids[r.place] AS task_id, r.number, r.started_at,
            r.bytes_received[r.place] AS bytes_received
        FROM (
            SELECT one_run.*, array_position(one_run.task_ids, t.id) AS place
            FROM rename_run one_run
            WHERE one_run.session_id = t.session_id AND one_run.block = \(AttemptRuns.block(of: "t.id"))
        ) r
        WHERE get_bit(r.gone, r.place - 1) = 0
        """

    /// The CTEs that take the pending renames of workers that are not registered, of at most `count`
    /// tasks, if `condition` is met; they offer `taken`, as the view `pending_rename`.
    ///
    /// Each gets a row of its own and a new fence, from `first` on.
    static func takeOrphans(count: Int, from first: Int64, if condition: Query) -> Query {
        """
        orphan AS (
            DELETE FROM rename_run r WHERE r.first_fence = ANY (ARRAY(
                SELECT x.first_fence FROM rename_run x
                WHERE \(condition) AND NOT EXISTS (
                    SELECT 1 FROM worker w
                    WHERE w.incarnation = \(AttemptRuns.worker(of: "x")))
                ORDER BY x.first_fence LIMIT \(count / lengthMax) FOR UPDATE))
            RETURNING r.*
        ),
        taken AS MATERIALIZED (
            SELECT \(first) + row_number() OVER () - 1 AS fence, r.session_id, r.block, r.number,
                r.started_at, r.resumed_at_offset, k.task_id, k.part_fence, k.http_status,
                k.bytes_received, k.response_head, k.inode, k.inode_born_at_ns
            FROM orphan r CROSS JOIN LATERAL \(elements)
            WHERE \(isThere)
        ),
        stored AS (
            \(into)
            SELECT fence, session_id, block, number, started_at, resumed_at_offset, ARRAY[task_id],
                ARRAY[fence], ARRAY[part_fence], ARRAY[http_status], ARRAY[bytes_received],
                ARRAY[response_head], ARRAY[inode], ARRAY[inode_born_at_ns], \(bits.full("1"))
            FROM taken
        )
        """
    }
}
