import Postgres
import TransferModel

/// SQL for pending renames that one transaction began: rows of `rename_run`, each with those of
/// attempts that had one row.
///
/// Rows of `rename_run` are locked after those of attempts, and in the order of their fences. The
/// view `pending_rename` has every rename by itself.
enum RenameRuns {
    /// The table; a row with so many mostly fits into a page as it is.
    static let runs = FenceRuns(
        table: "rename_run",
        stem: "rename",
        lengthMax: 32,
        nothing: "0::bit(32)",
        columns: """
            r.number, r.session_id, r.started_at, r.resumed_at_offset,
            r.part_fences[c.place_in_run + 1] AS part_fence,
            r.http_statuses[c.place_in_run + 1] AS http_status,
            r.bytes_received[c.place_in_run + 1] AS bytes_whole,
            r.response_heads[c.place_in_run + 1] AS response_head
            """
    )

    private static let into: Query = """
        INSERT INTO rename_run (
            first_fence, session_id, block, number, started_at, resumed_at_offset, task_ids,
            part_fences, http_statuses, bytes_received, response_heads, inodes, inodes_born_at_ns,
            gone)
        """

    /// The statement that stores the pending renames of a CTE `moved`, `(low, high, number,
    /// session_id, started_at, resumed_at_offset)`, of which a row `given` has what differs, in
    /// arrays.
    ///
    /// Those from the place `low` to the place `high` in these get one row.
    static let insert: Query = """
        \(into)
        SELECT (SELECT fences FROM given)[m.low], m.session_id,
            \(FenceRuns.block(of: "(SELECT task_ids FROM given)[m.low]")), m.number, m.started_at,
            m.resumed_at_offset, \(slice(of: "task_ids")), \(slice(of: "part_fences")),
            \(slice(of: "http_statuses")), \(slice(of: "bytes_received")),
            \(slice(of: "response_heads")), \(slice(of: "inodes")),
            \(slice(of: "inodes_born_at_ns")), \(runs.full("(m.high - m.low + 1)"))
        FROM moved m
        """

    private static func slice(of column: Query) -> Query {
        "(SELECT \(column) FROM given)[m.low:m.high]"
    }

    /// Selects a pending rename by the task and the fence of an item `i`; no row if there is none.
    static let selectItem: Query = """
        SELECT FROM (
            SELECT one_run.*, (i.fence - one_run.first_fence)::int AS place_in_run
            FROM rename_run one_run
            WHERE one_run.first_fence = (SELECT r.first_fence FROM (\(runs.run(of: "i.fence"))) r)
        ) r
        WHERE r.task_ids[r.place_in_run + 1] = i.task_id AND get_bit(r.gone, r.place_in_run) = 0
        """

    /// Selects the pending rename of a task `t`; no row if it has none.
    static let find = runs.find(
        """
        t.id AS task_id, r.number, r.started_at, r.bytes_received[r.place_in_run + 1] AS bytes_received
        """
    )

    /// The CTEs that take the pending renames of workers that are not registered, of at most
    /// `count` tasks, if `condition` is met; they offer `taken`, as the view `pending_rename`.
    ///
    /// Each gets a row of its own and a new fence, from `first` on.
    static func takeOrphans(count: Int, from first: Int64, if condition: Query) -> Query {
        """
        orphan AS (
            DELETE FROM rename_run r WHERE r.first_fence = ANY (ARRAY(
                SELECT y.first_fence FROM rename_run y
                WHERE y.first_fence = ANY (ARRAY(
                    SELECT z.first_fence FROM (
                        SELECT x.first_fence,
                            sum(cardinality(x.task_ids)) OVER (ORDER BY x.first_fence) AS tasks
                        FROM rename_run x
                        WHERE \(condition) AND NOT EXISTS (
                            SELECT 1 FROM worker w
                            WHERE w.incarnation = \(FenceRuns.worker(of: "x")))
                    ) z WHERE z.tasks <= \(Int64(count))))
                ORDER BY y.first_fence FOR UPDATE))
            RETURNING r.*
        ),
        taken AS MATERIALIZED (
            SELECT \(first) + row_number() OVER () - 1 AS fence, r.session_id, r.block, r.number,
                r.started_at, r.resumed_at_offset, k.*
            FROM orphan r CROSS JOIN LATERAL unnest(
                r.task_ids, r.part_fences, r.http_statuses, r.bytes_received, r.response_heads,
                r.inodes, r.inodes_born_at_ns
            ) WITH ORDINALITY AS k (
                task_id, part_fence, http_status, bytes_received, response_head, inode,
                inode_born_at_ns, place)
            WHERE get_bit(r.gone, k.place::int - 1) = 0
        ),
        stored AS (
            \(into)
            SELECT fence, session_id, block, number, started_at, resumed_at_offset, ARRAY[task_id],
                ARRAY[part_fence], ARRAY[http_status], ARRAY[bytes_received], ARRAY[response_head],
                ARRAY[inode], ARRAY[inode_born_at_ns], \(runs.full("1"))
            FROM taken
        )
        """
    }
}
