import Foundation
import Postgres
package import TransferModel

extension ClientStore {
    /// The number of sessions whose first page is cancelled before a force-quit is answered.
    private static let forceQuitSessionsMax = 20
    /// The number of rounds of remaining cancellations that a launch runs before it reports the
    /// service unavailable.
    private static let launchRoundsMax = 20
    /// The number of tries of a launch whose client changes meanwhile.
    private static let launchTriesMax = 20

    /// Ends a client like a person who swipes it away: the outstanding tasks of its sessions are
    /// cancelled, the sessions accept nothing new, and none of their events is delivered until the
    /// client is launched.
    ///
    /// From the commit on all that is decided, under the row locks of the sessions' counters, and
    /// none of their tasks begins. A page of each session is cancelled at once, the rest by
    /// ``continueCancellations()``.
    ///
    /// - Returns: the client as it then is, or nil when the tenant has none of that name.
    package func forceQuit(tenant: TenantID, id: ClientID) async throws(StoreError) -> Client? {
        try await forceQuit(id, of: tenant, and: [])
    }

    /// Force-quits a client and does `more` in the same transaction.
    func forceQuit(
        _ id: ClientID,
        of tenant: TenantID,
        and more: [Query]
    ) async throws(StoreError) -> Client? {
        let move = Self.requestMove(
            of: id,
            tenant,
            to: .forceQuit,
            where: "c.lifecycle <> 'force_quit'"
        )
        let quit: [Query] = [
            """
            WITH \(Self.lockSessions(of: id, tenant, where: "NOT p.is_force_quit")),
            marked AS (
                UPDATE session_progress p SET is_force_quit = true
                FROM locked l WHERE p.session_id = ANY (ARRAY[l.session_id])
                RETURNING p.session_id, p.outstanding
            )
            INSERT INTO cancellation (session_id)
            SELECT session_id FROM marked WHERE outstanding > 0
            ON CONFLICT (session_id) DO NOTHING
            """,
            """
            WITH ended AS (
                UPDATE background_task_run r SET
                    ended_at = clock_timestamp(), reason = 'client_force_quit'
                WHERE r.ended_at IS NULL AND r.client_id = (
                    SELECT c.id FROM client c WHERE \(Self.isNamed(id, tenant)))
                RETURNING r.id, r.client_id, r.identifier, r.request_id, r.launched_at,
                    r.accepted_at IS NOT NULL OR \(RunStore.isHeard) AS is_accepted
            ),
            accepted AS (
                DELETE FROM background_task_request WHERE due_at IS NULL AND id = ANY (ARRAY(
                    SELECT e.request_id FROM ended e WHERE e.is_accepted))
            ),
            uncounted AS (
                UPDATE background_task_handler h SET last_launched_at = h.launched_before_at
                FROM ended e
                WHERE NOT e.is_accepted AND h.client_id = e.client_id
                    AND h.identifier = e.identifier AND h.last_launched_at = e.launched_at
            )
            DELETE FROM timer WHERE subject = ANY (ARRAY(SELECT e.id FROM ended e))
            """,
            // What was launched and not accepted is launched again with the client.
            """
            WITH again AS (
                UPDATE background_task_request q SET
                    due_at = clock_timestamp(), waits_for = 'client_force_quit',
                    waits_since = clock_timestamp()
                WHERE q.due_at IS NULL AND q.client_id = (
                    SELECT c.id FROM client c WHERE \(Self.isNamed(id, tenant)))
                RETURNING q.id
            )
            INSERT INTO timer (subject, kind, due_at)
            SELECT id, 'request', clock_timestamp() FROM again
            ON CONFLICT (subject) DO UPDATE SET due_at = excluded.due_at
            """,
            // An instance that is delivering finds its claim gone; pending events wait for the
            // launch.
            """
            UPDATE delivery d SET
                worker = NULL, fence = NULL,
                due_at = clock_timestamp() + \(DeliveryStore.awayPause.milliseconds) * interval '1 ms'
            FROM (\(Self.selectLogs(of: id, tenant))) s
            CROSS JOIN LATERAL (\(Fragment.selectSubscriptions("b.id"))) b
            WHERE d.subscription_id = ANY (ARRAY[b.id]) AND d.session_id = ANY (ARRAY[s.id])
                AND d.due_at IS NOT NULL
            """,
        ]
        let rows = try await database.run(
            [Self.lock(id, of: tenant)] + move + quit + more + [Self.selectClient(tenant, id)]
        )
        guard let client = try first(rows[rows.count - 1]) else { return nil }
        let sessions = try await sessionsToCancel(of: id, tenant, limit: Self.forceQuitSessionsMax)
        for session in sessions { await CancellationStore(database).beginCancellation(of: session) }
        return client
    }

    /// Records that a client is running again.
    ///
    /// After a force-quit its sessions accept tasks again, and their pending deliveries are due. A
    /// client that was not running is told which of its tasks wait for it.
    ///
    /// - Returns: the client as it then is, unchanged when it is being removed, or nil when the
    ///   tenant has none of that name.
    /// - Throws: ``StoreError/unavailable(_:)`` also while much of the force-quit is still to be
    ///   done.
    package func launch(tenant: TenantID, id: ClientID) async throws(StoreError) -> Client? {
        for _ in 0..<Self.launchTriesMax {
            guard let before = try await client(tenant: tenant, id: id) else { return nil }
            if before.removedAt != nil { return before }
            // Tasks that were outstanding at the force-quit do not come back with the client.
            if before.lifecycle == .forceQuit {
                try await finishForceQuit(of: id, tenant)
            }
            if let launched = try await launch(before, tenant) { return launched }
        }
        throw .unavailable(PostgresError(decoding: "a client's lifecycle changes all the time"))
    }

    /// Launches a client.
    ///
    /// - Returns: nil when the client is no longer as it was before.
    private func launch(_ before: Client, _ tenant: TenantID) async throws(StoreError) -> Client? {
        let id = before.id
        let move = Self.requestMove(
            of: id,
            tenant,
            to: .active,
            where: """
                c.lifecycle = \(before.lifecycle.rawValue) AND c.lifecycle <> 'active'
                """
        )
        let launch: [Query] = [
            """
            WITH \(Self.lockSessions(of: id, tenant, where: "p.is_force_quit AND \(Self.isActive)"))
            UPDATE session_progress p SET is_force_quit = false
            FROM locked l WHERE p.session_id = ANY (ARRAY[l.session_id])
            """,
            before.lifecycle.isRunning ? "SELECT 1" : EventRuns.tellPending(of: id, tenant),
            """
            UPDATE timer SET due_at = clock_timestamp()
            WHERE due_at > clock_timestamp() AND subject = ANY (ARRAY(
                SELECT q.id FROM background_task_request q
                WHERE q.waits_for = 'client_force_quit' AND q.client_id = (
                    SELECT c.id FROM client c WHERE \(Self.isNamed(id, tenant)))))
            """,
            // A delivery that waits for another reason keeps its schedule, however often a client
            // launches.
            before.lifecycle == .forceQuit ? Self.makeDue(of: id, tenant) : "SELECT 1",
        ]
        let rows = try await database.run(
            [Self.lock(id, of: tenant)] + move + launch + [Self.selectClient(tenant, id)]
        )
        guard let client = try first(rows[rows.count - 1]), client.lifecycle == .active else {
            return nil
        }
        // Repeated on its own, so that it waits for a claim that has seen the client as it was, and
        // undoes the waits which that claim has set.
        if before.lifecycle == .forceQuit {
            _ = try await database.run(Self.makeDue(of: id, tenant))
        }
        return client
    }

    /// Makes the waiting deliveries of a client's sessions due, and also those that are due
    /// already, because a claim may be setting them to wait right now.
    ///
    /// An unacknowledged end is reported again, because the process that worked on it is gone.
    private static func makeDue(of client: ClientID, _ tenant: TenantID) -> Query {
        """
        UPDATE delivery d SET due_at = clock_timestamp()
        FROM (
            SELECT s.id AS session_id, b.id AS subscription_id
            FROM (\(selectLogs(of: client, tenant))) s
            CROSS JOIN LATERAL (\(Fragment.selectSubscriptions("b.id"))) b
            WHERE \(isActive)
            UNION ALL
            -- What its own subscriptions are told of the tenant's events.
            SELECT s.tenant_id, s.id FROM subscription s
            WHERE s.is_living AND s.tenant_id = \(tenant.uuid) AND s.client = \(client.name)
                AND \(isActive)
        ) x
        WHERE d.subscription_id = ANY (ARRAY[x.subscription_id])
            AND d.session_id = ANY (ARRAY[x.session_id])
            AND d.due_at IS NOT NULL AND d.fence IS NULL
        """
    }

    /// Selects the logs of a client, those of its sessions and its own.
    private static func selectLogs(of client: ClientID, _ tenant: TenantID) -> Query {
        """
        SELECT s.id, s.tenant_id, s.client, s.identifier FROM session s
        WHERE s.tenant_id = \(tenant.uuid) AND s.client = \(client.name)
        UNION ALL
        SELECT c.id, c.tenant_id, c.identifier, NULL FROM client c
        WHERE \(isNamed(client, tenant))
        """
    }

    /// Whether the client of a session or subscription `s` is active, either before this
    /// transaction or because of it.
    private static let isActive: Query = """
        EXISTS (
            SELECT 1 FROM client c WHERE c.tenant_id = s.tenant_id AND c.identifier = s.client
                AND c.lifecycle = 'active')
        """

    /// Locks the counters of a client's sessions in the order used everywhere; offers `locked`.
    private static func lockSessions(
        of client: ClientID,
        _ tenant: TenantID,
        where condition: Query
    ) -> Query {
        """
        locked AS MATERIALIZED (
            SELECT p.session_id
            FROM session s JOIN session_progress p ON p.session_id = ANY (ARRAY[s.id])
            WHERE s.tenant_id = \(tenant.uuid) AND s.client = \(client.name) AND \(condition)
            ORDER BY s.id FOR UPDATE OF p
        )
        """
    }

    /// Cancels the outstanding tasks of a client that was force-quit, except those being published.
    private func finishForceQuit(
        of client: ClientID,
        _ tenant: TenantID
    ) async throws(StoreError) {
        for _ in 0..<Self.launchRoundsMax {
            let sessions = try await sessionsToCancel(
                of: client,
                tenant,
                limit: CancellationStore.cancellationSessionsMax
            )
            if sessions.isEmpty { return }
            for session in sessions {
                _ = try await CancellationStore(database).cancelPage(of: session, waits: true)
            }
        }
        throw .unavailable(PostgresError(decoding: "a client's force-quit is still at work"))
    }

    /// Returns the sessions of a force-quit client that still have tasks to cancel.
    private func sessionsToCancel(
        of client: ClientID,
        _ tenant: TenantID,
        limit: Int
    ) async throws(StoreError) -> [SessionID] {
        let rows = try await database.run(
            """
            SELECT s.id
            FROM cancellation c
            JOIN session s ON s.id = ANY (ARRAY[c.session_id])
            JOIN session_progress p ON p.session_id = ANY (ARRAY[c.session_id])
            WHERE s.tenant_id = \(tenant.uuid) AND s.client = \(client.name) AND p.is_force_quit
                AND \(CancellationStore.isAnyLeft)
            ORDER BY s.id LIMIT \(limit)
            """
        )
        return try rows.map { row throws(StoreError) in try row.session("id") }
    }
}
