import Postgres

/// Tasks of a statement in spans, in the order of their fences: those of a span have fences that
/// follow each other, so that a row of ``FenceRuns`` has whole stretches of it.
struct FenceSpans {
    /// The fence of the first task of each span.
    private(set) var fences: [Int64] = []
    /// The places of the first and of the last task of each in the arguments, from 1.
    private(set) var lows: [Int32] = []
    private(set) var highs: [Int32] = []

    /// Makes spans of the tasks with these fences that are `included`, each by itself if they are
    /// to be `apart`.
    ///
    /// - Parameters:
    ///   - fences: the fences of all tasks in the arguments, in their order.
    ///   - length: if there is one, a span ends before each fence that is a multiple of it.
    ///   - apart: whether each task is to have its own span.
    ///   - included: whether the task at an index of `fences` belongs to one.
    init(
        _ fences: [Int64],
        length: Int? = nil,
        apart: Bool = false,
        including included: (Int) -> Bool = { _ in true }
    ) {
        for (index, fence) in fences.enumerated() where included(index) {
            let place = Int32(index + 1)
            let isCut = apart || length.map { fence.isMultiple(of: Int64($0)) } ?? false
            if !isCut, highs.last == place - 1, fence > fences[index - 1],
                fence - 1 == fences[index - 1]
            {
                highs[highs.count - 1] = place
            } else {
                self.fences.append(fence)
                lows.append(place)
                highs.append(place)
            }
        }
        sort()
    }

    /// Puts the spans in the order of their fences.
    private mutating func sort() {
        guard zip(fences, fences.dropFirst()).contains(where: >) else { return }
        let order = fences.indices.sorted { fences[$0] < fences[$1] }
        fences = order.map { fences[$0] }
        lows = order.map { lows[$0] }
        highs = order.map { highs[$0] }
    }

    /// Whether there are none.
    var isEmpty: Bool { fences.isEmpty }
}

extension FenceRuns {
    /// The CTEs that take the tasks of `spans` out of their rows, in stretches: those of a span
    /// that are in one row.
    ///
    /// A stretch `x` is taken as a whole, or not at all if one of its tasks has left the row. They
    /// offer `from_…`, `(low, high)` and `columns` of its row `r`, in which it begins at `x.place`,
    /// from 1, where both meet `condition`. `tasks` is the query for the array of all identifiers.
    func take(
        _ spans: FenceSpans,
        of tasks: Query,
        _ columns: Query,
        if condition: Query = "true"
    ) -> Query {
        """
        from_\(stem) AS MATERIALIZED (
            SELECT r.first_fence, r.gone, x.low, x.high, x.bits, \(columns)
            FROM \(locked(spans))
            CROSS JOIN LATERAL (
                SELECT greatest(1, s.fence - r.first_fence + 1)::int AS place,
                    (s.low + greatest(0, r.first_fence - s.fence))::int AS low,
                    least(s.high, s.low + r.first_fence + cardinality(r.task_ids) - 1 - s.fence)::int
                        AS high
            ) y
            CROSS JOIN LATERAL (
                SELECT y.*, \(everything) << (\(Int32(lengthMax - 1)) - y.high + y.low) >> y.place - 1
                    AS bits
            ) x
            WHERE r.gone & x.bits = \(nothing) AND \(condition)
                AND r.task_ids[x.place : x.place + x.high - x.low] = (\(tasks))[x.low : x.high]
        ),
        \(cut("""
            SELECT f.first_fence, f.gone | bit_or(f.bits) AS gone
            FROM from_\(stem) f GROUP BY f.first_fence, f.gone
            """))
        """
    }

    /// The statement that locks every row that has tasks of `spans`, for a transaction in which
    /// more than one statement takes some of them.
    func lock(_ spans: FenceSpans) -> Query { "SELECT FROM \(locked(spans))" }

    /// Joins the `spans` `s` with the rows `r` that have tasks of them, which it locks in the order
    /// of their fences, as the spans are.
    private func locked(_ spans: FenceSpans) -> Query {
        """
        unnest(\(spans.fences), \(spans.lows), \(spans.highs)) AS s (fence, low, high)
            CROSS JOIN LATERAL (
                -- LIMIT makes this a look-up by key.
                SELECT * FROM \(table) one_run
                WHERE one_run.first_fence > s.fence - \(Int64(lengthMax))
                    AND one_run.first_fence <= s.fence + (s.high - s.low)
                    AND one_run.first_fence + cardinality(one_run.task_ids) > s.fence
                ORDER BY one_run.first_fence LIMIT s.high - s.low + \(Int64(lengthMax)) FOR UPDATE
            ) r
        """
    }
}
