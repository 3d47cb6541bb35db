package import Foundation
import Postgres
package import TransferModel

/// The launches of background tasks.
package struct RunStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension RunStore {
    /// The number of rows that one call of ``pruneRuns(endedBefore:notAfter:)`` removes.
    package static let pruneMax = 1000

    /// Returns a run.
    package func run(
        _ id: BackgroundTaskRunID,
        of tenant: TenantID
    ) async throws(StoreError) -> BackgroundTaskRun? {
        let rows = try await database.run(Self.select(where: Self.isNamed(id, tenant)))
        guard let row = rows.first else { return nil }
        return try BackgroundTaskRun(row)
    }

    /// Returns a page of a client's runs, the newest first.
    package func runs(
        of client: ClientID,
        tenant: TenantID,
        identifier: BackgroundTaskIdentifier? = nil,
        before: BackgroundTaskRunID?,
        limit: Int
    ) async throws(StoreError) -> [BackgroundTaskRun] {
        let owner: Query = """
            (SELECT o.id FROM client o WHERE \(ClientStore.isNamed(client, tenant, as: "o")))
            """
        let page = Self.page(of: owner, identifier, before: before, limit: limit)
        return try await database.fetch(
            BackgroundTaskRun.self,
            """
            \(Self.select(where: "r.id = ANY (ARRAY(\(page)))"))
            ORDER BY r.launched_at DESC, r.id DESC
            """
        )
    }

    /// Selects a page of runs.
    ///
    /// The first columns are bounded by a range and not by an equality, and the range begins as
    /// only one index of all runs does: another plan would read all runs of the client.
    private static func page(
        of owner: Query,
        _ identifier: BackgroundTaskIdentifier?,
        before: BackgroundTaskRunID?,
        limit: Int
    ) -> Query {
        let place: Query =
            before.map {
                """
                coalesce((SELECT p.launched_at FROM background_task_run p WHERE p.id = \($0.uuid)),
                    '-infinity'), \($0.uuid)
                """
            } ?? "'infinity'::timestamptz, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid"
        guard let identifier else {
            return """
                SELECT y.id FROM (
                    SELECT x.id, x.client_id FROM background_task_run x
                    WHERE (x.client_id, x.launched_at, x.id) < (\(owner), \(place))
                    ORDER BY x.client_id DESC, x.launched_at DESC, x.id DESC LIMIT \(limit)
                ) y WHERE y.client_id = \(owner)
                """
        }
        return """
            SELECT y.id FROM (
                SELECT x.id, x.client_id, x.identifier FROM background_task_run x
                WHERE (x.identifier, x.client_id, x.launched_at, x.id)
                    < (\(identifier.name), \(owner), \(place))
                ORDER BY x.identifier DESC, x.client_id DESC, x.launched_at DESC, x.id DESC
                LIMIT \(limit)
            ) y WHERE y.client_id = \(owner) AND y.identifier = \(identifier.name)
            """
    }

    /// Records that a client has taken up a run.
    package func acceptRun(
        _ id: BackgroundTaskRunID,
        of tenant: TenantID
    ) async throws(StoreError) -> RunChangeResult {
        try await change(id, of: tenant, to: "accepted_at = \(Self.acceptedAt)")
    }

    /// Lets a run take at least `time` from now, within the bound of its kind.
    ///
    /// The time counts from now and not from the deadline, so that repetitions do not add up.
    package func extendRun(
        _ id: BackgroundTaskRunID,
        forAtLeast time: Duration,
        of tenant: TenantID
    ) async throws(StoreError) -> RunChangeResult {
        let kinds = BackgroundTaskKind.allCases
        // The same moment wherever the statement names it.
        let deadline: Query = """
            least(statement_timestamp() + \(time.milliseconds) * interval '1 ms',
                r.launched_at + interval '1 ms' * (
                    SELECT b.time_ms FROM unnest(\(kinds.map(\.rawValue)),
                        \(kinds.map(\.runTimeMax.milliseconds))) AS b (kind, time_ms)
                    WHERE b.kind = r.kind))
            """
        return try await change(
            id,
            of: tenant,
            to: """
                accepted_at = \(Self.acceptedAt),
                deadline_at = greatest(r.deadline_at, \(deadline)),
                -- The new deadline is announced, too, if there is one.
                is_expiring = r.is_expiring AND r.deadline_at >= \(deadline)
                """
        )
    }

    /// Records how far the client has got, and what it shows to the user.
    package func reportProgress(
        _ progress: BackgroundTaskRun.Progress,
        title: String?,
        subtitle: String?,
        of id: BackgroundTaskRunID,
        tenant: TenantID
    ) async throws(StoreError) -> RunChangeResult {
        try await change(
            id,
            of: tenant,
            to: """
                accepted_at = \(Self.acceptedAt),
                completed_units = \(progress.completedUnitCount),
                total_units = \(progress.totalUnitCount),
                title = coalesce(\(title), r.title), subtitle = coalesce(\(subtitle), r.subtitle)
                """
        )
    }

    /// Ends a run, once.
    package func completeRun(
        _ id: BackgroundTaskRunID,
        isSuccessful: Bool,
        of tenant: TenantID
    ) async throws(StoreError) -> RunChangeResult {
        let reason: BackgroundTaskRun.EndReason =
            isSuccessful ? .completedByClient : .failedByClient
        return try await change(
            id,
            of: tenant,
            to: """
                accepted_at = \(Self.acceptedAt),
                ended_at = clock_timestamp(), reason = \(reason.rawValue)
                """
        )
    }

    /// Links those of the transfers to a run that the tenant has.
    ///
    /// - Throws: ``StoreError/quotaExceeded(_:)`` when there is no room for all of them.
    package func linkTransfers(
        _ tasks: [TaskID],
        to id: BackgroundTaskRunID,
        of tenant: TenantID
    ) async throws(StoreError) -> RunChangeResult {
        let wanted: Query = """
            SELECT t.id FROM (
                SELECT x.id, x.session_id FROM task x WHERE x.id = ANY (\(tasks.map(\.uuid)))
            ) t
            JOIN session s ON s.id = ANY (ARRAY[t.session_id]) AND s.tenant_id = \(tenant.uuid)
            """
        let isLinked: Query = """
            SELECT 1 FROM background_task_transfer l WHERE l.run_id = \(id.uuid) AND l.task_id = t.id
            """
        let room: Query = """
            (\(BackgroundTaskRun.transfersMax) - (
                SELECT count(*) FROM background_task_transfer l WHERE l.run_id = \(id.uuid)))
            """
        let rows = try await perform(
            id,
            of: tenant,
            to: """
                accepted_at = \(Self.acceptedAt),
                -- Those that are linked are looked at from the first one on.
                drained_before = \(UUID.zero), is_drain_whole = true, has_failed_transfer = false
                """,
            then: [
                """
                WITH new AS MATERIALIZED (\(wanted) WHERE NOT EXISTS (\(isLinked))),
                linked AS (
                    INSERT INTO background_task_transfer (run_id, task_id)
                    SELECT r.id, n.id FROM background_task_run r CROSS JOIN new n
                    WHERE \(Self.isNamed(id, tenant)) AND r.ended_at IS NULL
                        AND (SELECT count(*) FROM new) <= \(room)
                )
                SELECT (SELECT count(*) FROM new) <= \(room) AS has_room
                """
            ]
        )
        let result = try Self.result(of: rows)
        guard case .changed = result, let room = rows[2].first, try !room.decode("has_room") else {
            return result
        }
        throw .quotaExceeded(Quota(.runTransfers, maximum: BackgroundTaskRun.transfersMax))
    }

    /// Changes an open run under its client's lock.
    private func change(
        _ id: BackgroundTaskRunID,
        of tenant: TenantID,
        to assignments: Query
    ) async throws(StoreError) -> RunChangeResult {
        try Self.result(of: try await perform(id, of: tenant, to: assignments))
    }

    /// Performs the statements of a change, of which the second changes the run, and `others`
    /// follow it.
    private func perform(
        _ id: BackgroundTaskRunID,
        of tenant: TenantID,
        to assignments: Query,
        then others: [Query] = []
    ) async throws(StoreError) -> [StoredRows] {
        let isIt = Self.isNamed(id, tenant)
        return try await database.run(
            [
                """
                SELECT c.id FROM client c
                WHERE c.id = (SELECT r.client_id FROM background_task_run r WHERE \(isIt))
                FOR NO KEY UPDATE
                """,
                """
                UPDATE background_task_run r SET \(assignments)
                WHERE \(isIt) AND num_nulls(r.ended_at) = 1
                """,
            ] + others + Self.settle(where: isIt) + [Self.select(where: isIt)]
        )
    }

    private static func result(of rows: [StoredRows]) throws(StoreError) -> RunChangeResult {
        guard let row = rows[rows.count - 1].first else { return .unknown }
        let run = try BackgroundTaskRun(row)
        return rows[1].affectedCount == 1 ? .changed(run) : .ended(run)
    }

    /// Returns the statements that follow changes of runs `r` of locked clients: their timers, the
    /// requests that were launched, and those that have waited for a run to end.
    ///
    /// The timers come last, because the condition may ask for them.
    static func settle(where condition: Query) -> [Query] {
        [
            // What was accepted and does not recur is done.
            """
            DELETE FROM background_task_request WHERE due_at IS NULL AND id = ANY (ARRAY(
                SELECT r.request_id FROM background_task_run r
                WHERE \(condition) AND r.accepted_at IS NOT NULL))
            """,
            // Launches in a row that nobody has accepted end with one that somebody has.
            """
            UPDATE background_task_request SET refusals = 0
            WHERE refusals > 0 AND id = ANY (ARRAY(
                SELECT r.request_id FROM background_task_run r
                WHERE \(condition) AND r.accepted_at IS NOT NULL))
            """,
            """
            UPDATE timer SET due_at = clock_timestamp()
            WHERE due_at > clock_timestamp() AND subject = ANY (ARRAY(
                SELECT q.id FROM background_task_request q
                WHERE q.waits_for IN ('run', 'budget') AND q.client_id = ANY (ARRAY(
                    SELECT r.client_id FROM background_task_run r
                    WHERE \(condition) AND r.ended_at IS NOT NULL))))
            """,
            """
            INSERT INTO timer (subject, kind, tenant_id, due_at)
            SELECT r.id, 'run', r.tenant_id, \(nextLook("r")) FROM background_task_run r
            WHERE \(condition) AND r.ended_at IS NULL
            ON CONFLICT (subject) DO UPDATE SET due_at = excluded.due_at, fence = NULL
            """,
            """
            DELETE FROM timer WHERE subject = ANY (ARRAY(
                SELECT r.id FROM background_task_run r
                WHERE \(condition) AND r.ended_at IS NOT NULL))
            """,
        ]
    }

    /// The next moment at which an open run `r` has to be looked at.
    ///
    /// An announcement that is still to be made is due even when its time is past. It is made for
    /// accepted runs only, and a cursor may accept one at any time.
    static func nextLook(_ run: Query) -> Query {
        let r = run
        return """
            least(\(r).deadline_at,
                CASE WHEN \(r).has_expiration_handler AND NOT \(r).is_expiring
                    THEN CASE WHEN num_nulls(\(r).accepted_at) = 0
                        THEN \(r).deadline_at - \(notice)
                        ELSE greatest(\(r).deadline_at - \(notice),
                            clock_timestamp() + \(lookInterval)) END END,
                CASE WHEN clock_timestamp() < \(r).launched_at + \(acceptTime)
                    THEN \(r).launched_at + \(acceptTime) END,
                CASE WHEN \(r).completes_with_transfers THEN clock_timestamp()
                    + CASE WHEN \(r).is_draining THEN interval '0 s' ELSE \(lookInterval) END END)
            """
    }

    static let notice: Query = "\(BackgroundTaskRun.notice.milliseconds) * interval '1 ms'"
    static let acceptTime: Query =
        "\(BackgroundTaskRun.acceptTimeMax.milliseconds) * interval '1 ms'"
    /// The time between two looks at what nobody tells: whether the transfers of a run have ended,
    /// and whether it was accepted.
    private static let lookInterval: Query = "interval '1 s'"

    /// Returns the details of an event about a run in columns of `row`.
    static func details(_ row: Query, run: Query) -> Query {
        """
        jsonb_build_object('run_id', \(run), 'identifier', \(row).identifier, 'kind', \(row).kind,
            'deadline_us', (extract(epoch FROM \(row).deadline_at) * 1000000)::bigint)
        """
    }

    /// Removes runs that ended before `retention`, at most ``pruneMax`` of them; none ended longer
    /// ago than at `latest`, however far ahead the database's clock is.
    ///
    /// - Returns: the number of those removed.
    package func pruneRuns(
        endedBefore retention: Duration,
        notAfter latest: Date? = nil
    ) async throws(StoreError) -> Int {
        let rows = try await database.run(
            """
            WITH gone AS (
                DELETE FROM background_task_run WHERE id = ANY (ARRAY(
                    SELECT r.id FROM background_task_run r
                    WHERE r.ended_at < least(now(), \(latest))
                            - \(retention.milliseconds) * interval '1 ms'
                        AND NOT r.must_cancel
                    ORDER BY r.ended_at LIMIT \(Self.pruneMax) FOR UPDATE SKIP LOCKED))
                RETURNING id
            ),
            transfer_row AS (
                DELETE FROM background_task_transfer
                WHERE run_id = ANY (ARRAY(SELECT g.id FROM gone g))
            )
            SELECT id FROM gone
            """
        )
        return rows.count
    }

    static func isNamed(_ id: BackgroundTaskRunID, _ tenant: TenantID) -> Query {
        "r.id = \(id.uuid) AND r.tenant_id = \(tenant.uuid)"
    }

    private static func select(where condition: Query) -> Query {
        """
        SELECT r.id, c.identifier AS client, r.identifier, r.kind, r.launched_at, r.deadline_at,
            r.accepted_at, r.ended_at, r.occurrence_at, r.completed_units, r.total_units, r.title,
            r.subtitle, r.reason, CASE
                WHEN r.ended_at IS NOT NULL THEN NULL
                WHEN r.accepted_at IS NOT NULL OR \(isHeard) THEN 'running'
                ELSE 'launched' END AS open_state,
            (SELECT count(*) FROM background_task_transfer l WHERE l.run_id = r.id) AS transfers
        FROM background_task_run r JOIN client c ON c.id = ANY (ARRAY[r.client_id])
        WHERE \(condition)
        """
    }
}

extension BackgroundTaskRun: RowDecodable {
    init(_ row: StoredRow) throws(StoreError) {
        let total = try row.decodeIfPresent("total_units", as: Int64.self)
        let completed = try row.decodeIfPresent("completed_units", as: Int64.self) ?? 0
        let isOpen = try row.decodeIfPresent("reason", as: String.self) == nil
        let reason: EndReason? = isOpen ? nil : try row.word("reason")
        let state: State = if let reason { reason.state } else { try row.word("open_state") }
        self.init(
            id: BackgroundTaskRunID(try row.decode("id")),
            client: try row.client("client"),
            identifier: BackgroundTaskIdentifier(stored: try row.decode("identifier")),
            kind: try row.word("kind"),
            state: state,
            reason: reason,
            launchedAt: try row.decode("launched_at"),
            deadlineAt: try row.decode("deadline_at"),
            acceptedAt: try row.decodeIfPresent("accepted_at"),
            endedAt: try row.decodeIfPresent("ended_at"),
            occurrenceAt: try row.decodeIfPresent("occurrence_at"),
            progress: total.map { Progress(completedUnitCount: completed, totalUnitCount: $0) },
            title: try row.decodeIfPresent("title"),
            subtitle: try row.decodeIfPresent("subtitle"),
            transfers: try row.decode("transfers")
        )
    }
}
