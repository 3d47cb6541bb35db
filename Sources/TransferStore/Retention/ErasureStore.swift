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
    /// Resume data that their tasks left for other tasks is given up first, so that nothing looks
    /// for a file whose task is gone.
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
            \(Self.divided("SELECT t.id FROM task t WHERE t.session_id = e.session_id")),
            gone AS (
                DELETE FROM resume_data WHERE id = ANY (ARRAY(
                    SELECT r.id
                    FROM resume_data r CROSS JOIN LATERAL (
                        SELECT t.session_id FROM task t WHERE t.id = r.source_task_id LIMIT 1) t
                    -- Decided before anything is read.
                    WHERE EXISTS (SELECT 1 FROM erasable) AND r.id <> r.source_task_id
                        AND t.session_id IN (SELECT e.session_id FROM erasable e))
                    -- What failed tasks left for themselves, of as many tasks as one call erases.
                    || ARRAY(
                        SELECT d.id FROM divided d ORDER BY d.place LIMIT \(Self.erasureTasksMax)))
                RETURNING part_fence, source_task_id
            )
            INSERT INTO abandoned_part (fence, task_id)
            SELECT part_fence, source_task_id FROM gone ON CONFLICT (fence) DO NOTHING
            """,
            """
            WITH \(erasable),
            \(Self.needed),
            \(Self.divided("""
                SELECT t.id, t.tenant_id, t.upload_is_staged,
                    t.kind = 'download' AND t.destination_path IS NULL AS has_result,
                    (SELECT o.part_fence FROM outcome o WHERE o.task_id = t.id) AS part_fence
                FROM task t
                -- Not a join, which might read all tasks in the order of their keys.
                WHERE t.session_id = e.session_id AND t.id NOT IN (SELECT n.task_id FROM needed n)
                    AND (SELECT r.id FROM resume_data r WHERE r.id = t.id) IS NULL
                """))
            SELECT d.id, d.tenant_id, d.upload_is_staged, d.has_result, d.part_fence,
                NULL::timestamptz AS finished_at
            FROM divided d ORDER BY d.place LIMIT \(Self.erasureTasksMax)
            """,
        ])
        return try rows[1].map { row throws(StoreError) in try TaskRemains(row) }
    }

    /// Erases tasks whose files are gone, and the sessions without any remaining task; of a session
    /// with many events, only the oldest events.
    ///
    /// `position` and `latest` are those of ``tasksToErase(after:notAfter:)``.
    @discardableResult
    package func erase(
        _ tasks: [TaskID],
        after position: SessionID? = nil,
        notAfter latest: Date? = nil
    ) async throws(StoreError) -> Erased {
        let ids = tasks.map(\.uuid)
        let drained = Self.drained(after: position, latest)
        let rows = try await database.run([
            Self.waiting(after: position),
            "DELETE FROM attempt_log WHERE task_id = ANY (\(ids))",
            "DELETE FROM client_string_change WHERE task_id = ANY (\(ids))",
            "DELETE FROM task_owner WHERE task_id = ANY (\(ids))",
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
            TestHookStore.forgetFailures(of: ids),
            // So that no counts are left to fold for a session that is gone.
            CountStore.fold,
            """
            WITH \(drained),
            long AS MATERIALIZED (
                SELECT session_id, first FROM drained
                WHERE last - first >= \(Self.erasureTasksMax) LIMIT 1
            )
            DELETE FROM event_run
            WHERE session_id = (SELECT session_id FROM long)
                AND last_sequence < (SELECT first FROM long) + \(Self.erasureTasksMax)
            """,
            """
            WITH \(drained),
            empty AS MATERIALIZED (
                SELECT session_id FROM drained
                WHERE first IS NULL OR last - first < \(Self.erasureTasksMax)
            ),
            subscriber AS MATERIALIZED (
                SELECT b.id FROM subscription b WHERE b.tenant_id = ANY (ARRAY(
                    SELECT s.tenant_id FROM session s WHERE s.id = ANY (\(Self.emptyOnes))))
            ),
            count_row AS (
                DELETE FROM session_task_count WHERE session_id = ANY (\(Self.emptyOnes))
            ),
            event_row AS (DELETE FROM event_run WHERE session_id = ANY (\(Self.emptyOnes))),
            delivery_row AS (
                DELETE FROM delivery
                WHERE subscription_id = ANY (ARRAY(SELECT id FROM subscriber))
                    AND session_id = ANY (\(Self.emptyOnes))
            ),
            log_row AS (
                DELETE FROM delivery_log
                WHERE subscription_id = ANY (ARRAY(SELECT id FROM subscriber))
                    AND session_id = ANY (\(Self.emptyOnes))
                RETURNING id
            ),
            attempt_row AS (
                DELETE FROM delivery_attempt
                WHERE delivery_id = ANY (ARRAY(SELECT id FROM log_row))
            ),
            expired_row AS (
                DELETE FROM expired_task WHERE session_id = ANY (\(Self.emptyOnes))
            ),
            retried_row AS (
                DELETE FROM retried_failure WHERE session_id = ANY (\(Self.emptyOnes))
            ),
            answer_row AS (
                DELETE FROM session_credential WHERE session_id = ANY (\(Self.emptyOnes))
                RETURNING credential_id
            ),
            credential_row AS (
                DELETE FROM credential WHERE id = ANY (ARRAY(SELECT credential_id FROM answer_row))
                    AND name IS NULL
            ),
            feed_row AS (
                DELETE FROM feed_session WHERE session_id = ANY (\(Self.emptyOnes))
            ),
            progress_row AS (
                DELETE FROM session_progress WHERE session_id = ANY (\(Self.emptyOnes))
            ),
            session_row AS (DELETE FROM session WHERE id = ANY (\(Self.emptyOnes)))
            DELETE FROM erasure WHERE session_id = ANY (\(Self.emptyOnes))
            """,
        ])
        let sessions = rows[rows.count - 1].affectedCount
        let isFull = rows[0].count == Self.erasureSessionsMax
        return Erased(
            sessions: sessions,
            isMore: sessions == Self.erasureSessionsMax || rows[rows.count - 2].affectedCount > 0,
            position: isFull ? try rows[0].last?.session("session_id") : nil
        )
    }

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
                -- Where another instance was folding, the session waits for the next call.
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
                        SELECT 1 FROM subscription b JOIN delivery d ON d.subscription_id = b.id
                        WHERE b.tenant_id = s.tenant_id AND b.deleted_at IS NULL
                            AND d.session_id = x.session_id AND d.due_at IS NOT NULL))
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
    private static let emptyOnes: Query = "ARRAY(SELECT e.session_id FROM empty e)"

    /// The tasks whose rows are still needed, by a worker that has to stop, or to remove or
    /// continue a part file; all but the kept parts are few.
    ///
    /// What a failed task left for itself goes before it does.
    static let needed: Query = """
        needed AS MATERIALIZED (
            SELECT task_id FROM revocation
            UNION ALL SELECT task_id FROM abandoned_part
            UNION ALL SELECT source_task_id FROM abandoned_part WHERE source_task_id IS NOT NULL
            UNION ALL SELECT source_task_id FROM partial WHERE source_task_id IS NOT NULL
            UNION ALL SELECT source_task_id FROM resume_data WHERE id <> source_task_id
        )
        """

    /// Hides a task `t` whose session waits for its erasure.
    static let isNotErased: Query = """
        NOT EXISTS (SELECT 1 FROM erasure x WHERE x.session_id = t.session_id)
        """
}
