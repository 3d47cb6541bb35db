import Postgres

/// SQL for a table of runs: rows that each have several elements, and in `gone` a bit for each that is
/// no longer there or never was.
struct RunBits {
    /// The name of the table, whose key is `first_fence`.
    let table: Query
    /// What the names of the CTEs have in common.
    let stem: Query
    /// The bits of a row that has all elements it may have.
    let nothing: Query

    /// The bits of a row of which nothing is left.
    var everything: Query { "(~(\(nothing)))" }

    /// Returns the bits of a row with so many elements.
    func full(_ length: Query) -> Query { "(\(everything) >> \(length))" }

    /// The CTEs that take the elements of a CTE `from_…`, `(first_fence, place_in_run)` with places
    /// from 0, out of the rows of a CTE `locked_…`.
    ///
    /// A row of which nothing is left is removed.
    var cut: Query {
        """
        cut_\(stem) AS MATERIALIZED (
            SELECT r.first_fence, r.gone | x.gone AS gone
            FROM (
                SELECT f.first_fence, bit_or(set_bit(\(nothing), f.place_in_run, 1)) AS gone
                FROM from_\(stem) f GROUP BY f.first_fence
            ) x JOIN locked_\(stem) r USING (first_fence)
        ),
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
