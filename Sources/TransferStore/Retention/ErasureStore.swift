package import Foundation
import Postgres
package import TransferModel

/// The removal of everything that an ended session left.
package struct ErasureStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension ErasureStore {
    /// The maximum time that an erasure waits for subscribers that do not answer.
    private static let erasureDelayMax: Duration = .seconds(3600)
    /// The number of sessions looked at by one call.
    private static let erasureSessionsMax = 100
    /// The maximum number of tasks handled by one call, and of a session's events it removes at
    /// once.
    package static let erasureTasksMax = 1000

    /// What a call has erased.
    package struct Erased: Sendable {
        /// The number of sessions that are gone.
        package let sessions: Int
        /// Whether a call for the same place finds more: sessions behind them, or events of a
        /// large one.
        package let isMore: Bool
        /// The last session looked at; nil when there is none after it.
        package let position: SessionID?
    }

    /// Begins the erasure of invalidated ephemeral sessions that have no work and no deliveries
    /// left.
    ///
    /// Resume data that their tasks left, as many as one call erases, is given up first, so that
    /// nothing looks for a file whose task is gone.
    ///
    /// Only the first sessions after `position` are looked at: those that wait for something else,
    /// such as a task that continues with their bytes, may be many. None has waited for subscribers
    /// longer than at `latest`, however far ahead the database's clock is.
    ///
    /// Each of those that can be erased has a share of a call, however many tasks the others have;
    /// what is left of it is for the first ones.
    ///
    /// - Returns: ended tasks whose files are to be removed, at most ``erasureTasksMax``.
    package func tasksToErase(
        after position: SessionID? = nil,
        notAfter latest: Date? = nil
    ) async throws(StoreError) -> [TaskRemains] {
        let erasable = Self.erasable(after: position, latest)
        let rows = try await database.run([
            """
            WITH \(erasable),
            \(Self.divided("""
                SELECT t.id FROM task t
                WHERE t.session_id = e.session_id AND NOT \(Self.isInUse("t.id"))
                """)),
            -- Of as many tasks as one call erases, from these: all that is kept for others may be
            -- much more.
            page AS MATERIALIZED (
                SELECT d.id FROM divided d ORDER BY d.place LIMIT \(Self.erasureTasksMax)
            ),
            gone AS (
                DELETE FROM resume_data WHERE id = ANY (ARRAY(
                    SELECT r.id FROM page p
                    JOIN resume_data r ON r.source_task_id = ANY (ARRAY[p.id])
                        AND r.id <> r.source_task_id)
                    -- What failed tasks left for themselves.
                    || ARRAY(SELECT p.id FROM page p))
                RETURNING part_fence, source_task_id
            )
            INSERT INTO abandoned_part (fence, task_id)
            SELECT part_fence, source_task_id FROM gone ON CONFLICT (fence) DO NOTHING
            """,
            """
            WITH \(erasable),
            \(Self.divided("""
                SELECT t.id, t.tenant_id, t.upload_is_staged,
                    (SELECT o.part_fence FROM outcome o WHERE o.task_id = t.id) AS part_fence
                FROM task t
                -- Not a join, which might read all tasks in the order of their keys.
                WHERE t.session_id = e.session_id AND NOT \(Self.isInUse("t.id"))
                """))
            SELECT d.id, d.tenant_id, d.upload_is_staged, d.part_fence,
                NULL::timestamptz AS finished_at
            FROM divided d
            -- What has some is among the first ones of the next call. All that have would be read
            -- if these were looked for among them.
            WHERE (SELECT r.id FROM resume_data r WHERE r.id = d.id) IS NULL
                AND NOT \(Self.hasLeftSome("d.id"))
            ORDER BY d.place LIMIT \(Self.erasureTasksMax)
            """,
        ])
        return try rows[1].map { row throws(StoreError) in try TaskRemains(row) }
    }

    /// Erases tasks whose files are gone, and the sessions without any remaining task; of a session
    /// with many events, only the oldest events.
    ///
    /// `position` and `latest` are those of ``tasksToErase(after:notAfter:)``. Sessions behind one
    /// with which ``RetentionStore/sessionSubscriptionsMax`` subscriptions are reached are left for
    /// the next call.
    @discardableResult
    package func erase(
        _ tasks: [TaskID],
        after position: SessionID? = nil,
        notAfter latest: Date? = nil
    ) async throws(StoreError) -> Erased {
        let waiting = try await eraseTasks(tasks.map(\.uuid), after: position)
        guard !waiting.isEmpty else { return Erased(sessions: 0, isMore: false, position: nil) }
        // No counts may be left to fold for a session that is gone. They are those of all tenants,
        // whose readers would wait for a transaction that also erases.
        _ = try await CountStore(database).foldMoves()
        let rows = try await database.run([
            Self.removeEvents(after: position, latest),
            Self.removeSessions(after: position, latest),
        ])
        guard let row = rows[1].first else { throw StoreError(decoding: "no count of sessions") }
        let sessions = Int(try row.decode("sessions", as: Int64.self))
        let isCut = try row.decode("is_cut", as: Bool.self)
        let isFull = waiting.count == Self.erasureSessionsMax
        return Erased(
            sessions: sessions,
            isMore: sessions == Self.erasureSessionsMax || isCut || rows[0].affectedCount > 0,
            position: isFull ? try waiting.last?.session("session_id") : nil
        )
    }

    /// Erases tasks.
    ///
    /// - Returns: the sessions that ``waiting(after:)`` selects.
    private func eraseTasks(
        _ ids: [UUID],
        after position: SessionID?
    ) async throws(StoreError) -> StoredRows {
        try await database.run([
            Self.waiting(after: position),
            "DELETE FROM attempt_log WHERE task_id = ANY (\(ids))",
            "DELETE FROM client_string_change WHERE task_id = ANY (\(ids))",
            "DELETE FROM partial WHERE task_id = ANY (\(ids))",
            "DELETE FROM upload_resource WHERE task_id = ANY (\(ids))",
            "DELETE FROM task_mirror WHERE task_id = ANY (\(ids))",
            "DELETE FROM result_hold WHERE task_id = ANY (\(ids))",
            """
            WITH gone AS (
                DELETE FROM outcome WHERE task_id = ANY (\(ids))
                RETURNING session_id, state, bytes_received, bytes_sent
            )
            \(CountStore.recordMoves(CountStore.forgotten("gone")))
            """,
            "DELETE FROM task WHERE id = ANY (\(ids))",
            // Behind it, so that a reconnection beside this is seen, or finds the task gone.
            SessionStore.removeOwners(of: "SELECT i.task_id FROM unnest(\(ids)) AS i (task_id)"),
            TestHookStore.forgetFailures(of: ids),
        ])[0]
    }

    /// Returns the statement that removes the oldest events of a drained session with many.
    private static func removeEvents(after position: SessionID?, _ latest: Date?) -> Query {
        """
        WITH \(drained(after: position, latest)),
        long AS MATERIALIZED (
            SELECT session_id, first FROM drained WHERE last - first >= \(erasureTasksMax) LIMIT 1
        )
        DELETE FROM event_run
        WHERE session_id = (SELECT session_id FROM long)
            AND last_sequence < (SELECT first FROM long) + \(erasureTasksMax)
        """
    }

    /// Returns the statement that removes the drained sessions with few events, and selects their
    /// number and whether others have to wait for the next call.
    ///
    /// What deleted subscriptions were told of them goes with these subscriptions, in pages: a
    /// tenant may have had any number.
    private static func removeSessions(after position: SessionID?, _ latest: Date?) -> Query {
        """
        WITH \(drained(after: position, latest)),
        \(emptied),
        \(removeDeliveries),
        count_row AS (DELETE FROM session_task_count WHERE session_id = ANY (\(emptyOnes))),
        event_row AS (DELETE FROM event_run WHERE session_id = ANY (\(emptyOnes))),
        expired_row AS (DELETE FROM expired_task WHERE session_id = ANY (\(emptyOnes))),
        retried_row AS (DELETE FROM retried_failure WHERE session_id = ANY (\(emptyOnes))),
        answer_row AS (
            DELETE FROM session_credential WHERE session_id = ANY (\(emptyOnes))
            RETURNING credential_id
        ),
        credential_row AS (
            DELETE FROM credential WHERE id = ANY (ARRAY(SELECT credential_id FROM answer_row))
                AND name IS NULL
        ),
        feed_row AS (DELETE FROM feed_session WHERE session_id = ANY (\(emptyOnes))),
        progress_row AS (DELETE FROM session_progress WHERE session_id = ANY (\(emptyOnes))),
        session_row AS (DELETE FROM session WHERE id = ANY (\(emptyOnes))),
        erasure_row AS (DELETE FROM erasure WHERE session_id = ANY (\(emptyOnes)) RETURNING 1),
        -- Of sessions that were removed while they were given to the erasure.
        orphan_row AS (
            DELETE FROM erasure WHERE session_id = ANY (ARRAY(
                SELECT w.session_id FROM waiting w
                WHERE (SELECT s.id FROM session s WHERE s.id = w.session_id) IS NULL))
        )
        SELECT (SELECT count(*) FROM erasure_row) AS sessions,
            (SELECT count(*) FROM brief) > (SELECT count(*) FROM empty) AS is_cut
        """
    }

    /// The sessions of `drained` with few events as `brief`, and those of them that this call
    /// removes as `empty`.
    private static let emptied: Query = """
        brief AS MATERIALIZED (
            SELECT s.id, s.tenant_id, s.client, s.identifier, (
                SELECT count(*) FROM (
                    SELECT b.id FROM (\(Fragment.selectSubscriptions("b.id"))) b
                    LIMIT \(RetentionStore.sessionSubscriptionsMax)) b) AS subscriptions
            FROM drained d JOIN session s ON s.id = ANY (ARRAY[d.session_id])
            WHERE d.first IS NULL OR d.last - d.first < \(erasureTasksMax)
        ),
        empty AS MATERIALIZED (
            SELECT x.id, x.tenant_id, x.client, x.identifier FROM (
                SELECT b.*, sum(b.subscriptions) OVER (ORDER BY b.id) - b.subscriptions AS before
                FROM brief b) x
            WHERE x.before < \(RetentionStore.sessionSubscriptionsMax)
        )
        """

    /// The CTEs that remove what living subscriptions to the sessions of `empty` have had and would
    /// get.
    private static let removeDeliveries: Query = """
        subscriber AS MATERIALIZED (
            SELECT b.id, s.id AS session_id FROM empty s
            CROSS JOIN LATERAL (\(Fragment.selectSubscriptions("b.id"))) b
        ),
        delivery_row AS (
            DELETE FROM delivery d USING subscriber b
            WHERE \(Fragment.isDelivery(of: "b.id", in: "b.session_id"))
        ),
        log_row AS (
            DELETE FROM delivery_log WHERE ctid = ANY (ARRAY(
                SELECT l.row FROM subscriber b CROSS JOIN LATERAL (
                    \(DeliveryLogStore.selectRows(of: "b.id", in: "b.session_id"))) l))
        )
        """

    /// The sessions that can be erased and have no remaining task, with the numbers of their oldest
    /// and newest events.
    private static func drained(after position: SessionID?, _ latest: Date?) -> Query {
        """
        \(erasable(after: position, latest)),
        drained AS MATERIALIZED (
            SELECT e.session_id,
                (\(EventRuns.selectOldest("r.first_sequence", of: "e.session_id"))) AS first,
                (SELECT p.last_sequence FROM session_progress p
                    WHERE p.session_id = e.session_id) AS last
            FROM erasable e
            -- A look at one row for each, whatever else there is.
            WHERE (SELECT t.id FROM task t WHERE t.session_id = e.session_id LIMIT 1) IS NULL
                -- Where another instance is folding, the session waits for the next call.
                AND (SELECT m.session_id FROM session s
                    JOIN task_move m ON m.tenant_id = ANY (ARRAY[s.tenant_id])
                        AND m.session_id = ANY (ARRAY[s.id])
                    WHERE s.id = e.session_id LIMIT 1) IS NULL
        )
        """
    }

    /// Selects the first sessions after a place that wait for their erasure.
    private static func waiting(after position: SessionID?) -> Query {
        """
        SELECT x.session_id, x.begun_at FROM erasure x
        WHERE x.session_id > \(position?.uuid ?? UUID.zero)
        ORDER BY x.session_id LIMIT \(erasureSessionsMax)
        """
    }

    /// The first sessions after a place that can be erased now: all their tasks have ended, and
    /// their subscribers were told or have used up their time.
    private static func erasable(after position: SessionID?, _ latest: Date?) -> Query {
        """
        waiting AS MATERIALIZED (\(waiting(after: position))),
        erasable AS MATERIALIZED (
            SELECT x.session_id
            FROM waiting x
            JOIN session s ON s.id = ANY (ARRAY[x.session_id])
            JOIN session_progress p ON p.session_id = ANY (ARRAY[x.session_id])
            -- What the end of a session has left to do needs its rows.
            WHERE p.outstanding = 0
                AND (SELECT c.session_id FROM cancellation c
                    WHERE c.session_id = x.session_id) IS NULL
                AND (x.begun_at < least(now(), \(latest))
                        - \(erasureDelayMax.milliseconds) * interval '1 ms'
                    OR NOT EXISTS (
                        SELECT 1 FROM (\(Fragment.selectSubscriptions("b.id"))) b
                        CROSS JOIN LATERAL (
                            SELECT d.due_at FROM delivery d
                            WHERE \(Fragment.isDelivery(of: "b.id", in: "s.id")) LIMIT 1) d
                        -- Out here, or a plan might read all that are due.
                        WHERE d.due_at IS NOT NULL))
        )
        """
    }

    /// Returns CTEs that offer `divided`, tasks of the erasable sessions: in the order of `place`,
    /// the share of each session comes first.
    ///
    /// - Parameter tasks: selects the tasks of the session of `e`, with their `id`.
    /// - Returns: the CTEs, which read those of `erasable`.
    private static func divided(_ tasks: Query) -> Query {
        """
        share AS MATERIALIZED (
            -- In no order, or all tasks of all sessions might be read in it for those of a few.
            SELECT t.*, 1 AS place FROM erasable e CROSS JOIN LATERAL (
                \(tasks)
                LIMIT (SELECT \(Int64(erasureTasksMax)) / greatest(count(*), 1) FROM erasable)
            ) t
        ),
        rest AS MATERIALIZED (
            SELECT t.*, 2 AS place FROM erasable e CROSS JOIN LATERAL (
                \(tasks) LIMIT \(erasureTasksMax)
            ) t
            -- Nothing is read when the shares are all of it.
            LIMIT (SELECT CASE WHEN count(*) < \(Int64(erasureTasksMax))
                THEN \(Int64(erasureTasksMax)) ELSE 0 END FROM share)
        ),
        divided AS (
            SELECT s.* FROM share s
            UNION ALL
            SELECT r.* FROM rest r WHERE r.id NOT IN (SELECT s.id FROM share s)
        )
        """
    }

    /// The empty sessions as an array, so that rows are looked up one by one: a join with a mostly
    /// empty set may be planned as a scan of a whole table.
    private static let emptyOnes: Query = "ARRAY(SELECT e.id FROM empty e)"

    /// Whether the row of a task is still needed, by a worker that has to stop, or to remove or
    /// continue a part file; by one look-up in each index, however many are needed.
    ///
    /// What a failed task left for itself goes before it does.
    static func isNeeded(_ task: Query) -> Query {
        """
        (\(isInUse(task)) OR \(hasLeftSome(task)))
        """
    }

    /// Whether a task has left resume data for others.
    private static func hasLeftSome(_ task: Query) -> Query {
        """
        ((SELECT r.id FROM resume_data r
            WHERE r.source_task_id = \(task) AND r.id <> r.source_task_id LIMIT 1) IS NOT NULL)
        """
    }

    /// Whether the row of a task is needed for something else than resume data, which can be given
    /// up.
    ///
    /// Each look is a query of one row, which no plan can turn into a join with all rows.
    private static func isInUse(_ task: Query) -> Query {
        """
        ((SELECT x.fence FROM revocation x WHERE x.task_id = \(task) LIMIT 1) IS NOT NULL
            OR (SELECT x.fence FROM abandoned_part x
                WHERE x.task_id = \(task) LIMIT 1) IS NOT NULL
            OR (SELECT x.fence FROM abandoned_part x
                WHERE x.source_task_id = \(task) LIMIT 1) IS NOT NULL
            OR (SELECT x.task_id FROM partial x
                WHERE x.source_task_id = \(task) LIMIT 1) IS NOT NULL)
        """
    }

    /// Hides a task `t` whose session waits for its erasure.
    static let isNotErased: Query = """
        NOT EXISTS (SELECT 1 FROM erasure x WHERE x.session_id = t.session_id)
        """
}
