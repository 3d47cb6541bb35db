import Foundation
import Postgres
package import TransferModel

extension ClientStore {
    /// The number of sessions whose first page is cancelled before a force-quit is answered.
    private static let forceQuitSessionsMax = 20
    /// The number of tries of a launch whose client changes meanwhile.
    private static let launchTriesMax = 20

    /// Ends a client like a person who swipes it away: the outstanding tasks of its sessions are
    /// cancelled, the sessions accept nothing new, and none of their events is delivered until the
    /// client is launched.
    ///
    /// Sessions that have ended already are left as they are.
    ///
    /// From the commit on all that is decided, under the row locks of the sessions' counters, and
    /// none of their tasks begins. A page of each session is cancelled at once, the rest by
    /// ``CancellationStore/continueCancellations()``.
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
            WITH \(Self.lockLiving(of: id, tenant, where: "NOT p.is_force_quit")),
            marked AS (
                UPDATE session_progress p SET is_force_quit = true
                FROM locked l WHERE p.session_id = ANY (ARRAY[l.session_id])
                RETURNING p.session_id, p.outstanding
            )
            INSERT INTO cancellation (session_id, tenant_id)
            SELECT session_id, \(tenant.uuid) FROM marked WHERE outstanding > 0
            ON CONFLICT (session_id) DO NOTHING
            """,
            """
            WITH ended AS (
                UPDATE background_task_run r SET
                    ended_at = clock_timestamp(), reason = 'client_force_quit'
                WHERE r.ended_at IS NULL AND r.client_id = (
                    SELECT c.id FROM client c WHERE \(Self.isNamed(id, tenant)))
                RETURNING r.id, r.client_id, r.identifier, r.request_id, r.launched_at,
                    r.occurrence_at, r.accepted_at IS NOT NULL OR \(RunStore.isHeard) AS is_accepted
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
                RETURNING h.client_id, h.identifier, e.request_id
            ),
            -- One that recurs returns to the time that nobody has taken up.
            returned AS (
                UPDATE background_task_request q SET
                    occurrence_at = e.occurrence_at, due_at = clock_timestamp(),
                    waits_for = 'client_force_quit', waits_since = clock_timestamp()
                FROM ended e
                WHERE NOT e.is_accepted AND num_nulls(e.occurrence_at) = 0
                    AND q.id = ANY (ARRAY[e.request_id])
                RETURNING q.id, q.tenant_id, q.due_at
            ),
            \(TimerStore.freed),
            look AS (
                INSERT INTO timer (subject, kind, tenant_id, due_at)
                SELECT id, 'request', tenant_id, due_at FROM returned
                UNION ALL
                SELECT id, 'request', tenant_id, due_at FROM freed
                ON CONFLICT (subject) DO UPDATE SET due_at = excluded.due_at
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
                RETURNING q.id, q.tenant_id
            )
            INSERT INTO timer (subject, kind, tenant_id, due_at)
            SELECT id, 'request', tenant_id, clock_timestamp() FROM again
            ON CONFLICT (subject) DO UPDATE SET due_at = excluded.due_at
            """,
            Self.takeDeliveries(of: id, tenant),
        ]
        let rows = try await database.run(
            [Self.lock(id, of: tenant)] + move + quit + more + [Self.selectClient(tenant, id)]
        )
        guard let client = try first(rows[rows.count - 1]) else { return nil }
        // Repeated under the client's lock, for claims that were made beside the force-quit and had
        // seen the client as it was. Who is still making one then finds out when it records.
        _ = try await database.run([
            Self.lock(id, of: tenant), Self.takeDeliveries(of: id, tenant),
        ])
        let sessions = try await sessionsToCancel(of: id, tenant, limit: Self.forceQuitSessionsMax)
        for session in sessions { await CancellationStore(database).beginCancellation(of: session) }
        return client
    }

    /// Records that a client is running again.
    ///
    /// After a force-quit its sessions accept tasks again, and their pending deliveries become due,
    /// those of many by ``ResumptionStore/resumeDeliveries()``. A client that was not running is
    /// told which of its tasks wait for it.
    ///
    /// - Returns: the client as it then is, unchanged when it is being removed, or nil when the
    ///   tenant has none of that name.
    /// - Throws: ``StoreError/forceQuitInProgress`` while much of the force-quit is still to be
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
    func launch(_ before: Client, _ tenant: TenantID) async throws(StoreError) -> Client? {
        let id = before.id
        let move = Self.requestMove(
            of: id,
            tenant,
            to: .active,
            where: """
                c.lifecycle = \(before.lifecycle.rawValue) AND c.lifecycle <> 'active'
                -- Nor force-quit once more, with tasks that nobody has cancelled yet.
                AND c.lifecycle_changed_at = \(before.lifecycleChangedAt)
                """
        )
        let isActive: Query = """
            EXISTS (
                SELECT 1 FROM client c
                WHERE \(Self.isNamed(id, tenant)) AND c.lifecycle = 'active')
            """
        let launch: [Query] = [
            """
            WITH \(Self.lockLiving(of: id, tenant, where: "p.is_force_quit AND \(isActive)"))
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
        ]
        // A delivery that waits for another reason keeps its schedule, however often a client
        // launches.
        let resumption =
            before.lifecycle == .forceQuit ? ResumptionStore.resume(id, of: tenant) : []
        let rows = try await database.run(
            [Self.lock(id, of: tenant)] + move + launch + resumption
                + [Self.selectClient(tenant, id)]
        )
        guard let client = try first(rows[rows.count - 1]), client.lifecycle == .active else {
            return nil
        }
        if before.lifecycle == .forceQuit {
            await ResumptionStore(database).beginResuming(client.log.uuid)
        }
        return client
    }

    /// Locks the counters of a client's living sessions in the order used everywhere; offers
    /// `locked`.
    ///
    /// All of them, which may be some more than the quota has room for: sessions made at the same
    /// time are not counted by each other. A session that has ended takes no tasks, and those it
    /// has left are being cancelled.
    private static func lockLiving(
        of client: ClientID,
        _ tenant: TenantID,
        where condition: Query
    ) -> Query {
        """
        living AS MATERIALIZED (
            \(selectLiving("x.id", of: client, tenant))
        ),
        locked AS MATERIALIZED (
            SELECT p.session_id FROM session_progress p
            WHERE p.session_id = ANY (ARRAY(SELECT l.id FROM living l)) AND \(condition)
            ORDER BY p.session_id FOR UPDATE OF p
        )
        """
    }

    /// Cancels the outstanding tasks of a client that was force-quit, except pending renames.
    ///
    /// - Throws: ``StoreError/forceQuitInProgress`` when its time is over.
    private func finishForceQuit(
        of client: ClientID,
        _ tenant: TenantID
    ) async throws(StoreError) {
        let end = ContinuousClock.now + database.settings.launchWaitMax
        var isLate = false
        while true {
            let sessions = try await sessionsToCancel(
                of: client,
                tenant,
                limit: CancellationStore.cancellationSessionsMax
            )
            if sessions.isEmpty { return }
            // After a page at least, so that a client which asks again and again gets to the end.
            if isLate { throw .forceQuitInProgress }
            for session in sessions where !isLate {
                _ = try await CancellationStore(database).cancelPage(of: session, waits: true)
                isLate = end <= .now
            }
        }
    }

    /// Returns the sessions of a force-quit client that still have tasks to cancel.
    private func sessionsToCancel(
        of client: ClientID,
        _ tenant: TenantID,
        limit: Int
    ) async throws(StoreError) -> [SessionID] {
        let rows = try await database.run(
            """
            -- No joins, which might look at all sessions of the client.
            SELECT c.session_id FROM cancellation c
            WHERE c.tenant_id = \(tenant.uuid)
                AND (SELECT s.client = \(client.name) FROM session s WHERE s.id = c.session_id)
                AND (SELECT p.is_force_quit AND \(CancellationStore.isAnyLeft)
                    FROM session_progress p WHERE p.session_id = c.session_id)
            ORDER BY c.tenant_id, c.session_id LIMIT \(limit)
            """
        )
        return try rows.map { row throws(StoreError) in try row.session("session_id") }
    }

    /// Selects `columns` of the living sessions `x` of a client.
    ///
    /// The order is that of the indexes which tell living sessions from ended ones.
    static func selectLiving(_ columns: Query, of client: ClientID, _ tenant: TenantID) -> Query {
        """
        SELECT \(columns) FROM session x
        WHERE x.tenant_id = \(tenant.uuid) AND x.client = \(client.name)
            AND x.invalidated_at IS NULL
        ORDER BY x.tenant_id, x.client, x.identifier COLLATE "C"
        """
    }

    /// Returns the statement that takes the deliveries of a force-quit client away from the
    /// instances that are at work on them, so that these find their claims gone.
    ///
    /// It goes through the claims of all instances, of which each has a bounded number. What nobody
    /// has claimed is set to wait by the claim that meets it.
    static func takeDeliveries(of client: ClientID, _ tenant: TenantID) -> Query {
        """
        WITH claimed AS MATERIALIZED (
            SELECT d.subscription_id, d.session_id FROM delivery d WHERE d.worker IS NOT NULL
        ),
        taken AS MATERIALIZED (
            SELECT x.subscription_id, x.session_id FROM claimed x
            WHERE (SELECT s.tenant_id = \(tenant.uuid) AND s.client = \(client.name)
                    FROM session s WHERE s.id = x.session_id)
                OR (SELECT c.tenant_id = \(tenant.uuid) AND c.identifier = \(client.name)
                    FROM client c WHERE c.id = x.session_id)
                OR (SELECT b.tenant_id = \(tenant.uuid) AND b.client = \(client.name)
                        AND b.tenant_id = x.session_id
                    FROM subscription b WHERE b.id = x.subscription_id)
        )
        UPDATE delivery d SET
            worker = NULL, fence = NULL,
            due_at = clock_timestamp() + \(DeliveryStore.awayPause.milliseconds) * interval '1 ms'
        FROM taken x
        WHERE \(Fragment.isDelivery(of: "x.subscription_id", in: "x.session_id"))
            AND d.fence IS NOT NULL
            AND EXISTS (
                SELECT 1 FROM client c
                WHERE c.tenant_id = \(tenant.uuid) AND c.identifier = \(client.name)
                    AND c.lifecycle = 'force_quit')
        """
    }
}
