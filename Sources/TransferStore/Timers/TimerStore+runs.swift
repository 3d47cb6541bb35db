import Foundation
import Postgres
package import TransferModel

extension TimerStore {
    /// The wait before an unaccepted launch is repeated the first time; doubled each time.
    private static let relaunchPause: Duration = .seconds(30)
    /// The most times that the wait is doubled, to about an hour.
    private static let relaunchDoublingsMax: Int32 = 7

    /// Does what is due for runs: notes that a launch was accepted, announces deadlines, ends runs
    /// that were not accepted, have expired or have drained, and launches again what nobody has
    /// accepted.
    ///
    /// - Returns: the number of runs looked at.
    package func advanceRuns() async throws(StoreError) -> Int {
        let fence = Int64.random(in: 1...Int64.max)
        let held = Self.due("'run'", and: "t.fence = \(fence)")
        let rows = try await database.run(
            [
                """
                WITH due AS MATERIALIZED (
                    SELECT r.id, r.client_id FROM background_task_run r
                    WHERE r.id = ANY (ARRAY(\(Self.due("'run'"))))
                ),
                locked AS MATERIALIZED (
                    SELECT c.id FROM client c
                    WHERE c.id = ANY (ARRAY(SELECT d.client_id FROM due d))
                    ORDER BY c.id FOR NO KEY UPDATE SKIP LOCKED
                )
                UPDATE timer t SET fence = \(fence)
                FROM due d JOIN locked l ON l.id = d.client_id
                WHERE t.subject = ANY (ARRAY[d.id])
                """,
                """
                WITH state AS MATERIALIZED (
                    SELECT r.*, r.accepted_at IS NOT NULL OR \(RunStore.isHeard) AS is_accepted,
                        d.*
                    FROM background_task_run r CROSS JOIN LATERAL (\(Self.drain)) d
                    WHERE r.id = ANY (ARRAY(\(held))) AND r.ended_at IS NULL
                ),
                verdict AS MATERIALIZED (
                    SELECT s.*, CASE
                        WHEN s.completes_with_transfers AND s.linked > 0 AND s.linked = s.ended
                            THEN CASE WHEN s.ended = s.completed THEN 'transfers_completed'
                                ELSE 'transfers_failed' END
                        WHEN NOT s.is_accepted AND least(
                                s.deadline_at, s.launched_at + \(RunStore.acceptTime)) <= now()
                            THEN 'not_accepted'
                        WHEN s.deadline_at <= now() THEN 'deadline_passed' END AS verdict
                    FROM state s
                ),
                run_row AS (
                    UPDATE background_task_run r SET
                        accepted_at = CASE WHEN v.is_accepted
                            THEN coalesce(r.accepted_at, clock_timestamp()) END,
                        is_expiring = r.is_expiring OR \(Self.isWarned),
                        ended_at = CASE WHEN v.verdict IS NOT NULL THEN clock_timestamp() END,
                        reason = v.verdict,
                        must_cancel = coalesce(v.verdict = 'deadline_passed', false)
                            AND r.cancels_transfers AND v.linked > 0
                    FROM verdict v WHERE r.id = ANY (ARRAY[v.id])
                ),
                again AS (
                    UPDATE background_task_request q SET
                        due_at = clock_timestamp() + \(Self.relaunchWait),
                        waits_for = 'relaunch', waits_since = clock_timestamp(),
                        refusals = least(q.refusals + 1, 1000)
                    FROM verdict v
                    WHERE v.verdict = 'not_accepted' AND q.id = ANY (ARRAY[v.request_id])
                        AND coalesce(q.due_at > clock_timestamp() + \(Self.relaunchWait), true)
                    RETURNING q.id, q.due_at
                ),
                -- The least interval counts from launches that somebody took up.
                uncounted AS (
                    UPDATE background_task_handler h SET last_launched_at = h.launched_before_at
                    FROM verdict v
                    WHERE v.verdict = 'not_accepted' AND h.client_id = v.client_id
                        AND h.identifier = v.identifier AND h.last_launched_at = v.launched_at
                ),
                again_timer AS (
                    INSERT INTO timer (subject, kind, due_at)
                    SELECT id, 'request', due_at FROM again
                    ON CONFLICT (subject) DO UPDATE SET due_at = excluded.due_at
                ),
                calmed AS (
                    UPDATE background_task_request q SET refusals = 0 FROM verdict v
                    WHERE v.is_accepted AND q.id = ANY (ARRAY[v.request_id]) AND q.refusals > 0
                ),
                happening AS (
                    SELECT v.client_id, row_number() OVER (ORDER BY v.id) AS place,
                        CASE WHEN v.verdict IS NULL THEN 'background_task.expiring'
                            ELSE 'background_task.expired' END AS kind, v.id AS subject,
                        \(RunStore.details("v", run: "v.id"))
                            || jsonb_strip_nulls(jsonb_build_object('reason', v.verdict)) AS details
                    FROM verdict v
                    WHERE v.verdict IN ('deadline_passed', 'not_accepted')
                        OR v.verdict IS NULL AND \(Self.isWarned)
                ),
                \(EventRuns.recordClientEvents)
                SELECT id FROM verdict
                """,
            ] + RunStore.settle(where: "r.id = ANY (ARRAY(\(held)))")
                // What is left of them has nothing more to be looked at.
                + ["DELETE FROM timer WHERE subject = ANY (ARRAY(\(held)))"]
        )
        return rows[0].affectedCount
    }

    /// Whether the deadline of a run in `verdict` `v` is announced now.
    private static let isWarned: Query = """
        (v.has_expiration_handler AND NOT v.is_expiring AND v.is_accepted
            AND v.deadline_at - \(RunStore.notice) <= now() AND v.deadline_at > now())
        """

    private static let relaunchWait: Query = """
        \(relaunchPause.milliseconds) * interval '1 ms'
            * power(2, least(q.refusals, \(relaunchDoublingsMax)))
        """

    /// Selects how many transfers are linked to a run `r` that completes with them, how many have
    /// ended, and how many of these completed.
    private static let drain: Query = """
        SELECT count(*) AS linked, count(*) FILTER (WHERE t.id IS NULL OR o.task_id IS NOT NULL)
                AS ended,
            count(*) FILTER (WHERE (o.state = 'completed') IS TRUE) AS completed
        FROM background_task_transfer l
        LEFT JOIN task t ON t.id = ANY (ARRAY[l.task_id])
        LEFT JOIN outcome o ON o.task_id = ANY (ARRAY[l.task_id])
        WHERE l.run_id = r.id AND (r.completes_with_transfers OR r.cancels_transfers)
        """

    /// Returns a page of the transfers that are to be cancelled with runs that have expired.
    package func transfersToCancel() async throws(StoreError) -> [RunTransfer] {
        try await database.fetch(
            RunTransfer.self,
            """
            SELECT r.id AS run_id, r.tenant_id, l.task_id
            FROM background_task_run r
            LEFT JOIN LATERAL (
                SELECT x.task_id FROM background_task_transfer x WHERE x.run_id = r.id
                ORDER BY x.task_id LIMIT \(Self.turnMax)
            ) l ON true
            WHERE r.must_cancel LIMIT \(Self.turnMax)
            """
        )
    }

    /// Forgets transfers that were cancelled with their runs, and that the runs had any to cancel
    /// once none is left.
    package func forgetTransfers(_ transfers: [RunTransfer]) async throws(StoreError) {
        let runs = Array(Set(transfers.map(\.run.uuid)))
        let tasks = transfers.compactMap(\.task?.uuid)
        _ = try await database.run([
            """
            DELETE FROM background_task_transfer
            WHERE run_id = ANY (\(runs)) AND task_id = ANY (\(tasks))
            """,
            """
            UPDATE background_task_run r SET must_cancel = false
            WHERE r.id = ANY (\(runs)) AND r.must_cancel AND NOT EXISTS (
                SELECT 1 FROM background_task_transfer l WHERE l.run_id = r.id)
            """,
        ])
    }
}

extension RunTransfer: RowDecodable {
    init(_ row: StoredRow) throws(StoreError) {
        self.init(
            run: BackgroundTaskRunID(try row.decode("run_id")),
            tenant: try row.tenant("tenant_id"),
            task: try row.decodeIfPresent("task_id", as: UUID.self).map { TaskID($0) }
        )
    }
}
