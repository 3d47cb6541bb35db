import Postgres
import TransferModel

/// The counts of tasks by state.
package struct CountStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

/// Counts of tasks in each state, kept up to date so that no statement counts tasks.
extension CountStore {
    /// The number of moves that one call folds.
    package static let foldMax = 10_000

    /// Returns the statement that records how tasks move, for the statement that moves them.
    ///
    /// Expects `moves` to select `(session_id, from_state, to_state, bytes_received, bytes_sent)`,
    /// a row for each task. A task without a `from_state` is new; one without a `to_state` is no
    /// longer kept; with neither, something happened to it where it is. Bytes count only for a task
    /// that has ended.
    static func recordMoves(_ moves: Query) -> Query {
        recordCounted(
            """
            SELECT session_id, from_state, to_state, count(*), sum(bytes_received)::bigint,
                sum(bytes_sent)::bigint
            FROM (\(moves)) m GROUP BY session_id, from_state, to_state
            """
        )
    }

    /// Returns the same statement for moves that are counted,
    /// `(session_id, from_state, to_state, tasks, bytes_received, bytes_sent)`.
    static func recordCounted(_ moves: Query) -> Query {
        """
        INSERT INTO task_move (
            tenant_id, session_id, from_state, to_state, tasks, bytes_received, bytes_sent)
        SELECT s.tenant_id, m.*
        FROM (\(moves)) m
        CROSS JOIN LATERAL (SELECT tenant_id FROM session WHERE id = m.session_id LIMIT 1) s
        """
    }

    /// Returns the moves of ended tasks `gone`, from `outcome`, that are no longer kept.
    static func forgotten(_ gone: Query) -> Query {
        """
        SELECT session_id, state AS from_state, NULL::task_state AS to_state, bytes_received,
            bytes_sent
        FROM \(gone)
        """
    }

    /// Adds a batch of moves to the counts, which does not change the sums that readers see, and
    /// the events of their sessions to the feeds.
    ///
    /// - Returns: the number of folded moves; zero also while another instance folds.
    package func foldMoves() async throws(StoreError) -> Int {
        // Synced, because a position of a feed that somebody has seen is never given to another
        // event.
        let rows = try await database.run(Self.fold)
        return Int(try rows.first?.decode("folded", as: Int64.self) ?? 0)
    }

    static let addCounts: Query = """
        tasks = c.tasks + excluded.tasks, bytes_received = c.bytes_received + excluded.bytes_received,
        bytes_sent = c.bytes_sent + excluded.bytes_sent
        """

    static let fold: Query = """
        WITH gone AS (
            DELETE FROM task_move WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM task_move
                WHERE (SELECT pg_try_advisory_xact_lock(
                    \(AdvisoryLock.fold.rawValue), hashtext(current_schema())))
                ORDER BY tenant_id, session_id LIMIT \(Self.foldMax)))
            RETURNING *
        ),
        change AS MATERIALIZED (
            SELECT tenant_id, session_id, \(Self.sumCounts)
            FROM (\(Self.selectChanges(of: "SELECT * FROM gone"))) c
            GROUP BY GROUPING SETS ((tenant_id, session_id, state), (tenant_id, state), (state))
        ),
        session_row AS (
            INSERT INTO session_task_count AS c (
                session_id, state, tasks, bytes_received, bytes_sent)
            SELECT session_id, state, tasks, bytes_received, bytes_sent FROM change
            WHERE session_id IS NOT NULL
            ON CONFLICT (session_id, state) DO UPDATE SET \(addCounts)
        ),
        tenant_row AS (
            INSERT INTO tenant_task_count AS c (
                tenant_id, state, tasks, bytes_received, bytes_sent)
            SELECT tenant_id, state, tasks, bytes_received, bytes_sent FROM change
            WHERE session_id IS NULL AND tenant_id IS NOT NULL
            ON CONFLICT (tenant_id, state) DO UPDATE SET \(addCounts)
        ),
        total_row AS (
            INSERT INTO task_count AS c (state, tasks)
            SELECT state, tasks FROM change WHERE tenant_id IS NULL
            ON CONFLICT (state) DO UPDATE SET tasks = c.tasks + excluded.tasks
        ),
        news AS MATERIALIZED (SELECT DISTINCT tenant_id, session_id FROM gone),
        \(Feed.addNews)
        SELECT count(*) AS folded FROM gone
        """

    /// The join with the counts `c` of a session `s`.
    static let joinCountsOfSession: Query = joinCounts(selectCountsOfSession)

    /// The query for `(state, tasks, bytes_received, bytes_sent)` of a session `s`, each state in
    /// several rows.
    static let selectCountsOfSession: Query = """
        SELECT state, tasks, bytes_received, bytes_sent FROM session_task_count
        WHERE session_id = s.id
        UNION ALL
        SELECT state, tasks, bytes_received, bytes_sent FROM (\(selectChanges(of: """
            SELECT * FROM task_move WHERE tenant_id = s.tenant_id AND session_id = s.id
            """))) m
        """

    /// The join with the counts `c` of a tenant `n`.
    static let joinCountsOfTenant: Query = joinCounts(selectCounts(ofTenant: "n.id"))

    /// Returns the query for `(state, tasks, bytes_received, bytes_sent)` of a tenant, each state
    /// in several rows.
    static func selectCounts(ofTenant tenant: Query) -> Query {
        """
        SELECT state, tasks, bytes_received, bytes_sent FROM tenant_task_count
        WHERE tenant_id = \(tenant)
        UNION ALL
        SELECT state, tasks, bytes_received, bytes_sent FROM (\(selectChanges(of: """
            SELECT * FROM task_move WHERE tenant_id = \(tenant)
            """))) m
        """
    }

    private static func joinCounts(_ counts: Query) -> Query {
        """
        CROSS JOIN LATERAL (
            SELECT coalesce(jsonb_object_agg(state, tasks), '{}') AS task_counts,
                coalesce(sum(bytes_received), 0)::bigint AS bytes_received,
                coalesce(sum(bytes_sent), 0)::bigint AS bytes_sent
            FROM (SELECT \(sumCounts) FROM (\(counts)) k GROUP BY state) k
        ) c
        """
    }

    /// Returns the changes that `moves`, rows of `task_move`, make: each task leaves one state and
    /// enters another.
    private static func selectChanges(of moves: Query) -> Query {
        """
        SELECT m.tenant_id, m.session_id, k.state, k.sign * m.tasks AS tasks,
            k.sign * CASE WHEN \(isTerminal) THEN m.bytes_received ELSE 0 END
                AS bytes_received,
            k.sign * CASE WHEN \(isTerminal) THEN m.bytes_sent ELSE 0 END AS bytes_sent
        FROM (\(moves)) m
        CROSS JOIN LATERAL (VALUES (m.from_state, -1), (m.to_state, 1)) k (state, sign)
        WHERE k.state IS NOT NULL
        """
    }

    private static let sumCounts: Query = """
        state, sum(tasks)::bigint AS tasks, sum(bytes_received)::bigint AS bytes_received,
        sum(bytes_sent)::bigint AS bytes_sent
        """

    /// Whether the state of a row `k` is final.
    static let isTerminal: Query = "k.state IN ('completed', 'failed', 'cancelled')"

    /// Returns the state of a task whose row `d` is in `delayed`.
    static func state(ofDelayed d: Query) -> Query {
        """
        CASE WHEN \(d).awaits_host THEN 'waiting_for_connectivity'::task_state
            WHEN \(d).failure IS NOT NULL THEN 'waiting_for_retry' ELSE 'scheduled' END
        """
    }

    /// Returns the state of a task whose row `q` is in `asked`.
    static func state(ofAsked q: Query) -> Query {
        """
        CASE \(q).question WHEN 'begin' THEN 'waiting_to_begin'::task_state
            ELSE 'waiting_for_authentication' END
        """
    }
}

extension TaskCounts {
    /// Reads the columns of ``CountStore/joinCountsOfSession``.
    init(_ row: StoredRow) throws(StoreError) {
        var tasks: [TransferState: Int64] = [:]
        let text = try row.decode("task_counts", as: JSONText.self).text
        let stored = try StoredJSON.decode([String: Int64].self, text)
        for (word, count) in stored {
            guard let state = TransferState(rawValue: word) else {
                throw StoreError(decoding: "unknown state in a count of tasks")
            }
            tasks[state] = count
        }
        self.init(
            tasks,
            bytesReceived: try row.decode("bytes_received"),
            bytesSent: try row.decode("bytes_sent")
        )
    }
}
