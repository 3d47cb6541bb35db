package import Foundation
import Postgres
package import TransferModel

extension TimerStore {
    /// The wait before an unaccepted launch is repeated the first time; doubled each time.
    private static let relaunchPause: Duration = .seconds(30)
    /// The most times that the wait is doubled, to about an hour.
    private static let relaunchDoublingsMax: Int32 = 7
    /// The number of transfers of a run that one look at it examines, at least 2.
    static let drainedMax = 100
    /// The number of transfers of an expired run that are cancelled before another run's.
    package static let cancelledMax = 100

    /// Does what is due for runs: notes that a launch was accepted, announces deadlines, ends runs
    /// that were not accepted, have expired or have drained, and launches again what nobody has
    /// accepted.
    ///
    /// - Returns: the number of runs looked at.
    package func advanceRuns(notAfter latest: Date? = nil) async throws(StoreError) -> Int {
        let fence = Int64.random(in: 1...Int64.max)
        let held = Self.held(under: fence)
        let now = Self.now(notAfter: latest)
        let isWarned = Self.isWarned(at: now)
        let rows = try await database.run(
            [
                Self.findDue("'run'", at: now),
                """
                WITH due AS MATERIALIZED (
                    SELECT r.id, r.client_id FROM background_task_run r
                    WHERE r.id = ANY (\(Self.dueSubjects))
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
                        WHEN s.completes_with_transfers AND s.has_transfers AND s.is_at_end
                                AND s.is_drain_whole
                            THEN CASE WHEN s.has_failed_transfer OR s.has_failed
                                THEN 'transfers_failed' ELSE 'transfers_completed' END
                        WHEN NOT s.is_accepted AND least(
                                s.deadline_at, s.launched_at + \(RunStore.acceptTime)) <= \(now)
                            THEN 'not_accepted'
                        WHEN s.deadline_at <= \(now) THEN 'deadline_passed' END AS verdict
                    FROM state s
                ),
                run_row AS (
                    UPDATE background_task_run r SET
                        accepted_at = CASE WHEN v.is_accepted THEN \(RunStore.acceptedAt) END,
                        is_expiring = r.is_expiring OR \(isWarned),
                        ended_at = CASE WHEN v.verdict IS NOT NULL THEN clock_timestamp() END,
                        reason = v.verdict,
                        must_cancel = coalesce(v.verdict = 'deadline_passed', false)
                            AND r.cancels_transfers AND v.has_transfers,
                        \(Self.drainChanges)
                    FROM verdict v WHERE r.id = ANY (ARRAY[v.id])
                    RETURNING r.request_id, r.client_id, r.identifier, r.occurrence_at,
                        r.launched_at, r.ended_at, r.reason
                ),
                \(Self.launchAgain),
                happening AS (
                    SELECT v.client_id, row_number() OVER (ORDER BY v.id) AS place,
                        CASE WHEN v.verdict IS NULL THEN 'background_task.expiring'
                            ELSE 'background_task.expired' END AS kind, v.id AS subject,
                        \(RunStore.details("v", run: "v.id"))
                            || jsonb_strip_nulls(jsonb_build_object('reason', v.verdict)) AS details
                    FROM verdict v
                    WHERE v.verdict IN ('deadline_passed', 'not_accepted')
                        OR v.verdict IS NULL AND \(isWarned)
                ),
                \(EventRuns.recordClientEvents)
                SELECT id FROM verdict
                """,
            ] + RunStore.settle(where: "r.id = ANY (ARRAY(\(held)))")
                // What is left of them has nothing more to be looked at.
                + ["DELETE FROM timer WHERE subject = ANY (ARRAY(\(held)))"]
        )
        return rows[1].affectedCount
    }

    /// The CTEs that let those of `run_row` that nobody has accepted be launched again, and undo
    /// what their launches have changed.
    private static let launchAgain: Query = """
        again AS (
            UPDATE background_task_request q SET
                -- The same one, from which those that come meanwhile follow.
                occurrence_at = coalesce(e.occurrence_at, q.occurrence_at),
                due_at = e.ended_at + \(relaunchWait),
                waits_for = 'relaunch', waits_since = e.ended_at,
                refusals = least(q.refusals + 1, 1000)
            FROM run_row e
            WHERE e.reason = 'not_accepted' AND q.id = ANY (ARRAY[e.request_id])
            RETURNING q.id, q.tenant_id, q.due_at
        ),
        -- The least interval counts from launches that somebody took up.
        uncounted AS (
            UPDATE background_task_handler h SET last_launched_at = h.launched_before_at
            FROM run_row e
            WHERE e.reason = 'not_accepted' AND h.client_id = e.client_id
                AND h.identifier = e.identifier AND h.last_launched_at = e.launched_at
            RETURNING h.client_id, h.identifier, e.request_id
        ),
        \(freed),
        again_timer AS (
            INSERT INTO timer (subject, kind, tenant_id, due_at)
            SELECT id, 'request', tenant_id, due_at FROM again
            UNION ALL
            SELECT id, 'request', tenant_id, due_at FROM freed
            ON CONFLICT (subject) DO UPDATE SET due_at = excluded.due_at
        )
        """

    /// The CTE that lets requests be looked at which have replaced those of launches that no longer
    /// count, and wait for their interval; when one is, the interval of an earlier launch still
    /// counts.
    ///
    /// Expects `uncounted(client_id, identifier, request_id)`.
    static let freed: Query = """
        freed AS (
            UPDATE background_task_request q SET
                due_at = greatest(q.occurrence_at, clock_timestamp()),
                waits_for = CASE WHEN q.occurrence_at > clock_timestamp()
                    THEN 'date' ELSE 'interval' END,
                waits_since = clock_timestamp()
            FROM uncounted u
            WHERE q.client_id = ANY (ARRAY[u.client_id]) AND q.identifier = u.identifier
                AND q.id <> u.request_id AND q.waits_for = 'interval'
            RETURNING q.id, q.tenant_id, q.due_at
        )
        """

    /// Whether the deadline of a run in `verdict` `v` is announced now.
    private static func isWarned(at now: Query) -> Query {
        """
        (v.has_expiration_handler AND NOT v.is_expiring AND v.is_accepted
            AND v.deadline_at - \(RunStore.notice) <= \(now) AND v.deadline_at > \(now))
        """
    }

    private static let relaunchWait: Query = """
        \(relaunchPause.milliseconds) * interval '1 ms'
            * power(2, least(q.refusals, \(relaunchDoublingsMax)))
        """

    /// Selects what is to be known of the transfers of a run `r`: whether it has any, and, if it
    /// completes with them, which of the next page is outstanding, or else the last of the page,
    /// whether one of the page has failed, and whether nothing follows it.
    ///
    /// While the first of the page is outstanding, nothing else is read.
    private static let drain: Query = """
        SELECT x.has_transfers, o.outstanding, p.last_examined,
            coalesce(p.has_failed, false) AS has_failed,
            num_nulls(o.outstanding) = 1 AND p.is_at_end AS is_at_end
        FROM (
            SELECT (
                SELECT l.task_id FROM background_task_transfer l WHERE l.run_id = r.id LIMIT 1
            ) IS NOT NULL AS has_transfers
        ) x
        LEFT JOIN LATERAL (
            SELECT l.task_id AS outstanding FROM (\(drainPage)) l
            WHERE r.completes_with_transfers
                AND (SELECT t.id FROM task t WHERE t.id = l.task_id) IS NOT NULL
                AND (SELECT o.task_id FROM outcome o WHERE o.task_id = l.task_id) IS NULL
            ORDER BY l.task_id LIMIT 1
        ) o ON true
        LEFT JOIN LATERAL (
            SELECT (array_agg(l.task_id ORDER BY l.task_id DESC))[1] AS last_examined,
                count(*) < \(drainedMax) AS is_at_end,
                bool_or((SELECT o.state FROM outcome o WHERE o.task_id = l.task_id)
                    IS DISTINCT FROM 'completed') AS has_failed
            FROM (\(drainPage)) l
            WHERE r.completes_with_transfers AND num_nulls(o.outstanding) = 1
        ) p ON true
        """

    /// Selects the transfers of a run `r` that are examined next.
    private static let drainPage: Query = """
        SELECT y.task_id FROM background_task_transfer y
        WHERE y.run_id = r.id AND y.task_id >= r.drained_before
        ORDER BY y.task_id LIMIT \(drainedMax)
        """

    /// What is noted of a run `r` in `verdict` `v` about its transfers.
    ///
    /// The run has drained when a pass over all of them has met none outstanding. Without it, one
    /// that was retried while another was waited for would be missed. A pass that has met one waits
    /// there, and another follows it.
    private static let drainChanges: Query = """
        -- Those of an expired run are cancelled from the first one on.
        drained_before = CASE WHEN v.verdict IS NOT NULL THEN \(UUID.zero)
            WHEN v.outstanding IS NOT NULL THEN v.outstanding
            WHEN v.is_at_end OR v.last_examined IS NULL THEN \(UUID.zero)
            ELSE v.last_examined END,
        is_drain_whole = v.outstanding IS NULL AND (v.is_at_end OR r.is_drain_whole),
        has_failed_transfer = v.outstanding IS NULL AND NOT v.is_at_end
            AND (r.has_failed_transfer OR v.has_failed),
        is_draining = v.last_examined IS NOT NULL AND NOT (v.is_at_end AND r.is_drain_whole)
        """

    /// Cancels transfers of runs that have expired, a page of each run at a time.
    ///
    /// Tenants take turns, as ``WaitingWork`` says: however many transfers one has linked, the runs
    /// of the others wait for a page of it.
    ///
    /// - Parameter onCancelled: Called with the run of each page that was cancelled.
    /// - Returns: whether there may be more.
    /// - Throws: the first failure, if nothing was cancelled.
    package func cancelTransfers(
        onCancelled: (BackgroundTaskRunID) -> Void
    ) async throws(StoreError) -> Bool {
        let table: Query = "background_task_run"
        return try await WaitingWork.advance(
            inBatchesOf: WaitingWork.ownersMax,
            nextTenant: { last throws(StoreError) in
                let next = WaitingWork.selectTenant(
                    of: table,
                    by: "id",
                    after: last,
                    where: "w.must_cancel"
                )
                return try await database.run(next).first?.tenant("tenant_id")
            },
            { (tenant: TenantID, last: ExpiredRun?) throws(StoreError) in
                let rows = try await database.run(
                    """
                    SELECT w.id FROM \(table) w
                    WHERE w.must_cancel
                        AND \(WaitingWork.isOwner(of: tenant, by: "id", after: last?.id))
                    ORDER BY w.tenant_id, w.id LIMIT \(WaitingWork.ownersMax)
                    """
                )
                return try rows.map { row throws(StoreError) in
                    ExpiredRun(tenant: tenant, id: try row.decode("id"))
                }
            },
            part: { run throws(StoreError) in
                let count = try await cancelTransfers(of: run)
                onCancelled(BackgroundTaskRunID(run.id))
                return count
            }
        ) > 0
    }

    /// A run whose transfers are to be cancelled.
    private struct ExpiredRun {
        let tenant: TenantID
        let id: UUID
    }

    /// Cancels a page of a run's transfers and notes how far that has got.
    ///
    /// They stay linked, because the run tells how many it has; none is linked to a run that has
    /// ended. Of two that cancel the same page, the later one notes nothing that the other has not
    /// noted.
    ///
    /// - Returns: the number of transfers, and 1 for the run itself unless others had come to its
    ///   end.
    private func cancelTransfers(of run: ExpiredRun) async throws(StoreError) -> Int {
        let rows = try await database.run(
            """
            SELECT l.task_id FROM background_task_transfer l
            WHERE l.run_id = \(run.id) AND l.task_id > (
                SELECT r.drained_before FROM background_task_run r WHERE r.id = \(run.id))
            ORDER BY l.run_id, l.task_id LIMIT \(Self.cancelledMax)
            """
        )
        let tasks = try rows.map { row throws(StoreError) in try row.task("task_id") }
        for task in tasks {
            _ = try await ControlStore(database).cancelTask(tenant: run.tenant, id: task)
        }
        let noted = try await database.run(
            """
            UPDATE background_task_run r SET
                drained_before = greatest(r.drained_before, \(tasks.last?.uuid)),
                must_cancel = (
                    SELECT l.task_id FROM background_task_transfer l
                    WHERE l.run_id = r.id
                        AND l.task_id > greatest(r.drained_before, \(tasks.last?.uuid))
                    ORDER BY l.run_id, l.task_id LIMIT 1
                ) IS NOT NULL
            WHERE r.id = \(run.id) AND r.must_cancel
            """
        )
        return tasks.count + noted.affectedCount
    }
}
