import Postgres

/// Tasks of a statement in spans: those of a span have fences that follow each other, so that a row of
/// ``FenceRuns`` has whole stretches of it.
struct FenceSpans {
    /// The fence of the first task of each span.
    private(set) var fences: [Int64] = []
    /// The places of the first and of the last task of each in the arguments, from 1.
    private(set) var lows: [Int32] = []
    private(set) var highs: [Int32] = []

    /// Makes spans of the tasks with these fences that are `included`, each by itself if they are to be
    /// `apart`.
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
    }

    /// Whether there are none.
    var isEmpty: Bool { fences.isEmpty }

    /// The number of tasks in them.
    var tasks: Int { zip(lows, highs).reduce(0) { $0 + Int($1.1 - $1.0) + 1 } }
}

extension FenceRuns {
    /// The CTEs that take the tasks of `spans` out of their rows, in stretches: those of a span that
    /// are in one row.
    ///
    /// A stretch is taken as a whole, or not at all if one of its tasks has left the row. They offer
    /// `from_…`, `(low, high, first_fence, place_in_run)` and `columns` of the row `r`, where it and the
    /// place of the stretch `s` in it meet `condition`.
    ///
    /// - Parameter tasks: the query for the identifiers of all tasks in the arguments, an array.
    func take(
        _ spans: FenceSpans,
        of tasks: Query,
        _ columns: Query,
        if condition: Query = "true"
    ) -> Query {
        """
        stretch_of_\(stem) AS MATERIALIZED (\(stretches(of: spans))),
        locked_\(stem) AS MATERIALIZED (\(lock("SELECT s.first_fence FROM stretch_of_\(stem) s"))),
        from_\(stem) AS MATERIALIZED (
            SELECT s.low, s.high, s.first_fence, s.place_in_run, s.bits, \(columns)
            FROM (
                SELECT *, \(everything) << (\(Int32(lengthMax)) - (high - low + 1)) >> place_in_run AS bits
                FROM stretch_of_\(stem)
            ) s JOIN locked_\(stem) r USING (first_fence)
            WHERE r.gone & s.bits = \(nothing) AND \(condition)
                AND r.task_ids[s.place_in_run + 1 : s.place_in_run + 1 + s.high - s.low]
                    = (\(tasks))[s.low : s.high]
        ),
        \(cut("f.bits"))
        """
    }

    /// The query that locks every row that has tasks of `spans`, for a transaction in which more than
    /// one statement takes some of them.
    func lock(_ spans: FenceSpans) -> Query {
        lock("SELECT s.first_fence FROM (\(stretches(of: spans))) s", "")
    }

    /// The query for what one row may have of a span: `(first_fence, place_in_run, low, high)`.
    private func stretches(of spans: FenceSpans) -> Query {
        """
        SELECT r.first_fence, greatest(0, s.fence - r.first_fence)::int AS place_in_run,
            (s.low + greatest(0, r.first_fence - s.fence))::int AS low,
            least(s.high, s.low + r.end_fence - 1 - s.fence)::int AS high
        FROM unnest(\(spans.fences), \(spans.lows), \(spans.highs)) AS s (fence, low, high)
        CROSS JOIN LATERAL (
            -- LIMIT makes this a look-up by key.
            SELECT one_run.first_fence,
                one_run.first_fence + cardinality(one_run.task_ids) AS end_fence
            FROM \(table) one_run
            WHERE one_run.first_fence > s.fence - \(Int64(lengthMax))
                AND one_run.first_fence <= s.fence + (s.high - s.low)
            ORDER BY one_run.first_fence LIMIT s.high - s.low + \(Int64(lengthMax))
        ) r
        WHERE r.end_fence > s.fence
        """
    }
}
