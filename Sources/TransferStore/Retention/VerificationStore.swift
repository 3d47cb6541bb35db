import Foundation
import Postgres
package import TransferModel

/// The reading of stored data, to be compared with the files and the counts.
package struct VerificationStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

/// The queries of `transferd verify`; only ``unequalTenantCounts(repairs:)`` and
/// ``unequalTotals(repairs:)`` read more than a page.
extension VerificationStore {
    /// The time without a heartbeat after which an instance does not count as alive: three leases.
    private static let silence: Duration = .seconds(30)

    /// Whether an instance that holds tasks or deliveries has sent a heartbeat recently.
    package func isAnyWorkerAlive() async throws(StoreError) -> Bool {
        let rows = try await database.run(
            """
            SELECT EXISTS (
                SELECT 1 FROM worker WHERE heartbeat_at
                    > clock_timestamp() - \(Self.silence.milliseconds) * interval '1 ms') AS is_alive
            """
        )
        return try rows.first?.decode("is_alive") ?? false
    }

    /// Returns a page of completed downloads, by task.
    package func results(
        after position: TaskID?,
        limit: Int
    ) async throws(StoreError) -> [StoredResult] {
        try await database.fetch(
            StoredResult.self,
            """
            SELECT o.task_id, t.tenant_id, t.destination_path, t.destination_overwrite,
                o.part_fence, o.bytes_received, o.result_gone_at IS NOT NULL AS is_known_gone
            FROM outcome o JOIN task t ON t.id = o.task_id
            WHERE o.task_id > \(position?.uuid ?? UUID.zero) AND o.state = 'completed'
                AND t.kind = 'download' AND \(ErasureStore.isNotErased)
            ORDER BY o.task_id LIMIT \(limit)
            """
        )
    }

    /// Records which tasks' files are gone, and which are there again.
    ///
    /// - Returns: the number of tasks whose record has changed.
    package func markResults(
        gone: [TaskID],
        found: [TaskID]
    ) async throws(StoreError) -> Int {
        let rows = try await database.run([
            """
            UPDATE outcome SET result_gone_at = clock_timestamp()
            WHERE task_id = ANY (\(gone.map(\.uuid))) AND state = 'completed'
                AND result_gone_at IS NULL
            """,
            """
            UPDATE outcome SET result_gone_at = NULL
            WHERE task_id = ANY (\(found.map(\.uuid))) AND result_gone_at IS NOT NULL
            """,
        ])
        return rows[0].affectedCount + rows[1].affectedCount
    }

    /// Compares the counters of a page of sessions with their tasks and events, and adds the
    /// difference if it `repairs`.
    ///
    /// This is one statement and so one snapshot: a concurrent move changes both sides or neither.
    /// The difference is added rather than the sum set, so that later moves are not undone.
    package func unequalCounts(
        after position: SessionID?,
        limit: Int,
        repairs: Bool
    ) async throws(StoreError) -> CountPage {
        let rows = try await database.run(
            [.plannedAnew],
            """
            WITH page AS MATERIALIZED (
                SELECT id FROM session WHERE id > \(position?.uuid ?? UUID.zero)
                ORDER BY id LIMIT \(limit)
            ),
            \(Self.actualCounts),
            \(Self.differences),
            repaired_state AS (
                INSERT INTO session_task_count AS c (
                    session_id, state, tasks, bytes_received, bytes_sent)
                SELECT session_id, name::task_state, actual - kept, bytes_received, bytes_sent
                FROM difference WHERE \(repairs) AND is_state
                ON CONFLICT (session_id, state) DO UPDATE SET \(CountStore.addCounts)
            ),
            repaired_outstanding AS (
                UPDATE session_progress p SET outstanding = p.outstanding + d.actual - d.kept
                FROM difference d
                WHERE p.session_id = d.session_id AND d.name = 'outstanding' AND \(repairs)
            )
            SELECT x.last, s.tenant_id, s.client, s.identifier, d.name, d.kept, d.actual,
                d.is_repairable
            FROM (SELECT (SELECT id FROM page ORDER BY id DESC LIMIT 1) AS last) x
            LEFT JOIN (difference d JOIN session s ON s.id = d.session_id) ON true
            ORDER BY d.session_id, d.name
            """
        )
        var differences: [CountDifference] = []
        for row in rows {
            if let difference = try CountDifference(session: row) {
                differences.append(difference)
            }
        }
        let last = try rows.first?.decodeIfPresent("last", as: UUID.self)
        return CountPage(position: last.map { SessionID($0) }, differences: differences)
    }

    /// Compares the counters of tenants with those of their sessions, which have been compared with
    /// the tasks, and adds the difference if it `repairs`.
    package func unequalTenantCounts(
        repairs: Bool
    ) async throws(StoreError) -> [CountDifference] {
        let rows = try await database.run(
            [.plannedAnew],
            """
            WITH difference AS MATERIALIZED (
                SELECT tenant_id, state, sum(kept)::bigint AS kept, sum(actual)::bigint AS actual,
                    sum(received)::bigint AS bytes_received, sum(sent)::bigint AS bytes_sent
                FROM (
                    SELECT tenant_id, state, tasks AS kept, 0 AS actual,
                        -bytes_received AS received, -bytes_sent AS sent
                    FROM tenant_task_count
                    UNION ALL
                    SELECT s.tenant_id, c.state, 0, c.tasks, c.bytes_received, c.bytes_sent
                    FROM session_task_count c JOIN session s ON s.id = c.session_id
                ) x
                GROUP BY tenant_id, state
                HAVING sum(actual) <> sum(kept) OR sum(received) <> 0 OR sum(sent) <> 0
            ),
            repaired AS (
                INSERT INTO tenant_task_count AS c (
                    tenant_id, state, tasks, bytes_received, bytes_sent)
                SELECT tenant_id, state, actual - kept, bytes_received, bytes_sent
                FROM difference WHERE \(repairs)
                ON CONFLICT (tenant_id, state) DO UPDATE SET \(CountStore.addCounts)
            )
            SELECT tenant_id, state::text AS name, kept, actual FROM difference
            ORDER BY tenant_id, state
            """
        )
        return try rows.map { row throws(StoreError) in
            CountDifference(
                subject: .tenant(try row.tenant("tenant_id")),
                name: try row.decode("name"),
                kept: try row.decode("kept"),
                actual: try row.decode("actual"),
                isRepairable: true
            )
        }
    }

    /// Compares the counters of all tenants together with theirs, which have been compared before,
    /// and adds the difference if it `repairs`.
    package func unequalTotals(repairs: Bool) async throws(StoreError) -> [CountDifference] {
        let rows = try await database.run(
            """
            WITH difference AS MATERIALIZED (
                SELECT state, sum(kept)::bigint AS kept, sum(actual)::bigint AS actual
                FROM (
                    SELECT state, tasks AS kept, 0 AS actual FROM task_count
                    UNION ALL SELECT state, 0, tasks FROM tenant_task_count
                ) x
                GROUP BY state HAVING sum(actual) <> sum(kept)
            ),
            repaired AS (
                INSERT INTO task_count AS c (state, tasks)
                SELECT state, actual - kept FROM difference WHERE \(repairs)
                ON CONFLICT (state) DO UPDATE SET tasks = c.tasks + excluded.tasks
            )
            SELECT state::text AS name, kept, actual FROM difference ORDER BY state
            """
        )
        return try rows.map { row throws(StoreError) in
            CountDifference(
                subject: .allTenants,
                name: try row.decode("name"),
                kept: try row.decode("kept"),
                actual: try row.decode("actual"),
                isRepairable: true
            )
        }
    }

    /// The places of the tasks of `page(id)`, each by one look-up in every table by its key, as
    /// `actual(session_id, state, tasks, bytes_received, bytes_sent)`; the state `nowhere` is for
    /// tasks that are in no table.
    private static let actualCounts: Query = """
        actual AS MATERIALIZED (
            SELECT session_id, state, count(*) AS tasks,
                sum(bytes_received)::bigint AS bytes_received, sum(bytes_sent)::bigint AS bytes_sent
            FROM (
                SELECT t.session_id, CASE
                        WHEN o.task_id IS NULL AND a.task_id IS NULL AND p.task_id IS NULL
                            AND q.task_id IS NULL AND d.task_id IS NULL AND h.task_id IS NULL
                            AND r.row IS NULL THEN 'nowhere'
                        ELSE \(TaskStore.stateOfPlaces) END AS state,
                    coalesce(o.bytes_received, 0) AS bytes_received,
                    coalesce(o.bytes_sent, 0) AS bytes_sent
                FROM page g JOIN task t ON t.session_id = g.id \(TaskStore.joinPlaces)
                LEFT JOIN LATERAL (\(ReadyRuns.select("r.row"))) r ON true
            ) t GROUP BY session_id, state
        )
        """

    /// The differences between the stored and the actual numbers of the sessions of `page`, as
    /// `difference`.
    private static let differences: Query = """
        kept AS (
            SELECT g.id AS session_id, k.state::text AS state, sum(k.tasks)::bigint AS tasks,
                sum(k.bytes_received)::bigint AS bytes_received,
                sum(k.bytes_sent)::bigint AS bytes_sent
            FROM page g JOIN session s ON s.id = g.id
            CROSS JOIN LATERAL (\(CountStore.selectCountsOfSession)) k
            GROUP BY g.id, k.state
        ),
        numbered AS (
            SELECT g.id AS session_id,
                sum(r.last_sequence - r.first_sequence + 1)::bigint AS events,
                max(r.last_sequence) AS last, min(r.first_sequence) AS first
            FROM page g JOIN event_run r ON r.session_id = g.id GROUP BY g.id
        ),
        difference AS MATERIALIZED (
            SELECT coalesce(k.session_id, a.session_id) AS session_id,
                coalesce(k.state, a.state) AS name, coalesce(k.tasks, 0) AS kept,
                coalesce(a.tasks, 0) AS actual,
                coalesce(a.bytes_received, 0) - coalesce(k.bytes_received, 0) AS bytes_received,
                coalesce(a.bytes_sent, 0) - coalesce(k.bytes_sent, 0) AS bytes_sent,
                coalesce(a.state, '') <> 'nowhere' AS is_state,
                coalesce(a.state, '') <> 'nowhere' AS is_repairable
            FROM kept k FULL JOIN actual a ON a.session_id = k.session_id AND a.state = k.state
            WHERE coalesce(k.tasks, 0) <> coalesce(a.tasks, 0)
                OR coalesce(k.bytes_received, 0) <> coalesce(a.bytes_received, 0)
                OR coalesce(k.bytes_sent, 0) <> coalesce(a.bytes_sent, 0)
            UNION ALL
            SELECT p.session_id, 'outstanding', p.outstanding, coalesce(w.tasks, 0), 0, 0, false,
                true
            FROM page g JOIN session_progress p ON p.session_id = g.id
            LEFT JOIN (
                SELECT session_id, sum(tasks)::bigint AS tasks FROM actual
                WHERE state NOT IN ('completed', 'failed', 'cancelled') GROUP BY session_id
            ) w ON w.session_id = g.id
            WHERE p.outstanding <> coalesce(w.tasks, 0)
            UNION ALL
            -- The oldest may be kept no longer; those that are have each number once.
            SELECT n.session_id, 'events', p.last_sequence, n.first - 1 + n.events, 0, 0, false, false
            FROM numbered n JOIN session_progress p ON p.session_id = n.session_id
            WHERE n.last <> p.last_sequence OR n.events <> n.last - n.first + 1
        )
        """
}
