package import Foundation
import Postgres
package import TransferModel

extension QueueStore {
    /// Makes a page of the tasks runnable that wait for hosts which can be reached again.
    ///
    /// - Returns: the number of these tasks; more may wait.
    package func release(hostKeys: [HostKey]) async throws(StoreError) -> Int {
        let rows = try await database.run(
            """
            WITH waiting AS (
                SELECT ctid AS row FROM delayed
                WHERE awaits_host AND host_key = ANY (\(hostKeys.map(\.rawValue)))
                LIMIT \(Self.promotionMax) FOR UPDATE SKIP LOCKED
            ),
            gone AS (
                DELETE FROM delayed d WHERE d.ctid = ANY (ARRAY(SELECT w.row FROM waiting w))
                \(Self.returningPromoted)
            ),
            \(Self.queuePromoted)
            """
        )
        return Int(try rows.first?.decode("promoted", as: Int64.self) ?? 0)
    }

    /// The time after which a task that its session's end will cancel is examined again.
    private static let stoppedPause: Duration = .seconds(3600)
    /// The maximum number of tasks that one call promotes.
    package static let promotionMax = 1000

    /// Makes due tasks runnable, never early by the database's clock, and asks the clients of those
    /// tasks that require it.
    ///
    /// With a `latest`, a task that is due after that time stays, however far ahead that clock is.
    ///
    /// - Returns: the number of promoted tasks, the number of questions, and the time until the
    ///   next task is due.
    package func promoteDue(notAfter latest: Date? = nil) async throws(StoreError) -> Promotion {
        // The questions first: they wait for the counters of their sessions, and hold no task then.
        let rows = try await database.run([
            Self.askDue(notAfter: latest),
            """
            WITH due AS (
                SELECT ctid AS row, session_id FROM delayed
                WHERE NOT asks_to_begin AND due_at <= least(now(), \(latest))
                ORDER BY due_at LIMIT \(Self.promotionMax) FOR UPDATE SKIP LOCKED
            ),
            \(Self.putOffStopped),
            gone AS (
                DELETE FROM delayed d
                WHERE d.ctid = ANY (ARRAY(SELECT o.row FROM open o WHERE o.may_begin))
                \(Self.returningPromoted)
            ),
            \(Self.queuePromoted)
            """,
            """
            SELECT ceil(extract(
                    epoch FROM min(due_at) - least(clock_timestamp(), \(latest))) * 1000)::bigint
                AS wait_ms, clock_timestamp() AS date
            FROM (
                (SELECT due_at FROM delayed WHERE NOT asks_to_begin ORDER BY due_at LIMIT 1)
                UNION ALL
                (SELECT due_at FROM delayed WHERE asks_to_begin ORDER BY due_at LIMIT 1)
            ) earliest
            """,
        ])
        guard let row = rows[2].first else { throw StoreError(decoding: "no clock") }
        let wait = try row.decodeIfPresent("wait_ms", as: Int64.self)
        let hostKeys = try rows[1].first?.decode("host_keys", as: [Int64].self) ?? []
        return Promotion(
            promoted: Int(try rows[1].first?.decode("promoted", as: Int64.self) ?? 0),
            hosts: Set(hostKeys.map(HostKey.init)),
            asked: rows[0].count,
            next: wait.map { max(.milliseconds($0), .zero) },
            date: try row.decode("date")
        )
    }

    /// Returns the statement that asks the clients of due tasks which require it.
    ///
    /// It locks the counters of their sessions before the tasks, as a change of a task does, and
    /// passes by tasks that somebody else has locked: while it waits it holds none.
    private static func askDue(notAfter latest: Date?) throws(StoreError) -> Query {
        let unanswered = try StoredJSON.text(
            of: TransferFailure(.timedOut, "Its client did not answer `task.will_begin` in time.")
                .final
        )
        return """
            WITH look AS MATERIALIZED (
                SELECT task_id, session_id FROM delayed
                WHERE asks_to_begin AND due_at <= least(now(), \(latest))
                ORDER BY due_at LIMIT \(promotionMax)
            ),
            due_counter AS MATERIALIZED (
                SELECT p.session_id
                FROM (SELECT DISTINCT l.session_id FROM look l) c
                JOIN session_progress p ON p.session_id = ANY (ARRAY[c.session_id])
                ORDER BY c.session_id FOR UPDATE OF p
            ),
            -- One may have been moved while its session was waited for.
            due AS MATERIALIZED (
                SELECT d.row, d.session_id
                FROM look l CROSS JOIN LATERAL (
                    SELECT x.ctid AS row, x.session_id, x.asks_to_begin, x.due_at FROM delayed x
                    WHERE x.task_id = l.task_id LIMIT 1 FOR UPDATE SKIP LOCKED
                ) d
                WHERE (SELECT count(*) FROM due_counter) > 0
                    AND d.asks_to_begin AND d.due_at <= least(now(), \(latest))
            ),
            \(putOffStopped),
            gone AS (
                DELETE FROM delayed d
                WHERE d.ctid = ANY (ARRAY(SELECT o.row FROM open o WHERE o.may_begin))
                RETURNING d.task_id, d.attempt
            ),
            asked_row AS (
                INSERT INTO asked (
                    task_id, session_id, tenant_id, question, attempt, until, failure)
                SELECT g.task_id, t.session_id, t.tenant_id, 'begin', g.attempt, clock_timestamp() + coalesce(
                    (t.options->>'timeout_for_resource')::float8 * 1000,
                    s.timeout_for_resource_ms) * interval '1 ms', \(unanswered)::jsonb
                FROM gone g JOIN task t ON t.id = ANY (ARRAY[g.task_id])
                JOIN session s ON s.id = ANY (ARRAY[t.session_id])
                RETURNING task_id, session_id, attempt
            ),
            happening AS (
                SELECT session_id, row_number() OVER (ORDER BY task_id) AS place,
                    'task.will_begin' AS kind, false AS ends, task_id,
                    'scheduled'::task_state AS from_state,
                    'waiting_to_begin'::task_state AS task_state, attempt,
                    0::bigint AS bytes_received, 0::bigint AS bytes_sent, NULL::jsonb AS failure
                FROM asked_row
            ),
            \(EventRuns.recordHappenings),
            \(Fragment.wake)
            SELECT task_id FROM asked_row
            """
    }

    /// The CTE that postpones due tasks of ended sessions until they are cancelled, so that others
    /// come first; expects `due(row, session_id)`, offers `open(row, may_begin)`.
    private static let putOffStopped: Query = """
        open AS MATERIALIZED (
            SELECT due.row, coalesce(\(CancellationStore.mayBegin(session: "due.session_id")), false) AS may_begin
            FROM due
        ),
        put_off AS (
            UPDATE delayed d SET due_at = now() + \(stoppedPause.milliseconds) * interval '1 ms'
            WHERE d.ctid = ANY (ARRAY(SELECT o.row FROM open o WHERE NOT o.may_begin))
        )
        """

    /// The clause that returns removed rows `d` of `delayed`.
    private static let returningPromoted: Query = """
        RETURNING d.task_id, d.host_key, d.session_id, d.priority_rank, d.attempt, d.began_at,
            \(CountStore.state(ofDelayed: "d")) AS state
        """

    /// The CTEs that put the tasks of `gone` into the queue, and the query for their number.
    private static let queuePromoted: Query = """
        move_row AS (\(CountStore.recordMoves("""
            SELECT session_id, state AS from_state, 'queued'::task_state AS to_state,
                0 AS bytes_received, 0 AS bytes_sent
            FROM gone
            """))),
        ready_row AS (\(ReadyRuns.insert(
            "SELECT host_key, session_id, priority_rank, task_id, attempt, began_at FROM gone")))
        SELECT count(*) AS promoted, ARRAY(
            SELECT DISTINCT g.host_key FROM gone g LIMIT \(Signal.hostsMax)) AS host_keys
        FROM gone
        """

    /// The result of a promotion.
    package struct Promotion: Sendable {
        /// The number of tasks that may run now.
        package let promoted: Int
        /// Their hosts, at most ``Signal/hostsMax``.
        package let hosts: Set<HostKey>
        /// The number of tasks whose clients are asked first.
        package let asked: Int
        /// The time until the next task is due; nil when none waits.
        package let next: Duration?
        /// The time of the database's clock.
        package let date: Date
    }
}
