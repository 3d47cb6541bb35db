package import Foundation
import Postgres
package import TransferModel

extension QueueStore {
    /// Makes runnable a page of what waits for hosts that have been reached again.
    ///
    /// - Returns: how many there were; more may wait.
    package func release(hostKeys: [HostKey]) async throws(StoreError) -> Int {
        try await database.run(
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
        ).affectedCount
    }

    /// After which a task that its session's end will cancel is looked at again.
    private static let stoppedPause: Duration = .seconds(3600)
    /// Tasks promoted by one call at most.
    package static let promotionMax = 1000

    /// Makes runnable what has become due, never a moment early by the database's clock, and asks
    /// the clients of those tasks that want it; with a `latest`, nothing that is due after that,
    /// however far ahead that clock is.
    ///
    /// - Returns: how many tasks were promoted, how many asked about, and how long until the next
    ///   one is due.
    package func promoteDue(notAfter latest: Date? = nil) async throws(StoreError) -> Promotion {
        let unanswered = try StoredJSON.text(
            of: TransferFailure(.timedOut, "Its client did not answer `task.will_begin` in time.")
                .final
        )
        let rows = try await database.run([
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
            WITH due AS (
                SELECT ctid AS row, session_id FROM delayed
                WHERE asks_to_begin AND due_at <= least(now(), \(latest))
                ORDER BY due_at LIMIT \(Self.promotionMax) FOR UPDATE SKIP LOCKED
            ),
            \(Self.putOffStopped),
            gone AS (
                DELETE FROM delayed d
                WHERE d.ctid = ANY (ARRAY(SELECT o.row FROM open o WHERE o.may_begin))
                RETURNING d.task_id, d.attempt
            ),
            asked_row AS (
                INSERT INTO asked (task_id, session_id, question, attempt, until, failure)
                SELECT g.task_id, t.session_id, 'begin', g.attempt, clock_timestamp() + coalesce(
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
            \(Fragment.recordHappenings),
            \(Fragment.wake)
            SELECT task_id FROM asked_row
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
        return Promotion(
            promoted: rows[0].affectedCount,
            asked: rows[1].count,
            next: wait.map { max(.milliseconds($0), .zero) },
            date: try row.decode("date")
        )
    }

    /// Puts what is due of sessions that have ended behind all else until it is cancelled; expects
    /// `due(row, session_id)`, offers `open(row, may_begin)`.
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

    /// Of rows `d` of `delayed` that are removed.
    private static let returningPromoted: Query = """
        RETURNING d.task_id, d.host_key, d.session_id, d.priority_rank, d.attempt, d.began_at,
            \(CountStore.state(ofDelayed: "d")) AS state
        """

    /// Puts into the queue what `gone` tells of.
    private static let queuePromoted: Query = """
        move_row AS (\(CountStore.recordMoves("""
            SELECT session_id, state AS from_state, 'queued'::task_state AS to_state,
                0 AS bytes_received, 0 AS bytes_sent
            FROM gone
            """)))
        INSERT INTO ready (host_key, session_id, priority_rank, task_id, attempt, began_at)
        SELECT host_key, session_id, priority_rank, task_id, attempt, began_at FROM gone
        """

    /// What became of the tasks that were due.
    package struct Promotion: Sendable {
        /// Tasks that may run now.
        package let promoted: Int
        /// Tasks whose clients are asked before.
        package let asked: Int
        /// How long until the next one is due; nil when none waits.
        package let next: Duration?
        /// What the database's clock shows.
        package let date: Date
    }
}
