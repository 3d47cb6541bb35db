import Foundation
import Postgres
import TransferModel

/// The deliveries of clients that are launched after a force-quit, of which there may be any
/// number: sessions are kept long after their end, and each may have many subscriptions.
package struct ResumptionStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension ResumptionStore {
    /// The number of deliveries that one transaction looks up for a client that was launched, if no
    /// more subscriptions than that hear of each session; those of subscriptions to single sessions
    /// are looked up in addition.
    package static let resumedMax = 2000

    /// Makes a page of the deliveries due of each client that was launched after a force-quit.
    ///
    /// A client that is blocked by others is left for later, and does not delay the rest. Tenants
    /// take turns, as ``WaitingWork`` says.
    ///
    /// - Returns: whether there are more pages.
    /// - Throws: why nothing could be done.
    package func resumeDeliveries() async throws(StoreError) -> Bool {
        try await WaitingWork.advance(
            "client_resumption",
            by: "client_id",
            in: database
        ) { client throws(StoreError) in
            try await resumeDeliveries(of: client) ? 1 : 0
        } > 0
    }

    /// Makes the first page due, which for most clients is all of it.
    ///
    /// This never fails: the launch is stored, and ``resumeDeliveries()`` carries it out later and
    /// throws the reason if that fails.
    func beginResuming(_ client: UUID) async {
        do throws(StoreError) { _ = try await resumeDeliveries(of: client) } catch {}
    }

    /// Makes the waiting deliveries of a page of a client's sessions due, the newest first, and
    /// forgets the launch after the last; does nothing while another instance does this.
    ///
    /// What was tried since the launch keeps its schedule.
    ///
    /// - Returns: whether there are more pages.
    private func resumeDeliveries(of client: UUID) async throws(StoreError) -> Bool {
        let rows = try await database.run([
            database.briefLocks,
            """
            WITH chosen AS MATERIALIZED (
                SELECT r.client_id, r.launched_at, r.resumed_before, c.tenant_id, c.identifier,
                    c.lifecycle, \(Self.sessionsOfPage) AS sessions
                FROM client_resumption r LEFT JOIN client c ON c.id = ANY (ARRAY[r.client_id])
                WHERE r.client_id = \(client) FOR UPDATE OF r SKIP LOCKED
            ),
            page AS MATERIALIZED (
                SELECT s.* FROM chosen r CROSS JOIN LATERAL (
                    SELECT x.id, x.tenant_id, x.client, x.identifier FROM session x
                    -- A range that begins as only the index of that order does.
                    WHERE (x.client || '', x.tenant_id, x.id)
                        < (r.identifier, r.tenant_id, r.resumed_before)
                    ORDER BY x.client || '' DESC, x.tenant_id DESC, x.id DESC LIMIT r.sessions
                ) s
                WHERE s.tenant_id = r.tenant_id AND s.client = r.identifier
                    AND r.lifecycle <> 'force_quit'
            ),
            -- Both columns of the key together: a plan might look up the session of a delivery
            -- alone, and read the whole index for each.
            pair AS MATERIALIZED (
                SELECT b.id AS subscription_id, s.id AS session_id, r.launched_at
                FROM chosen r CROSS JOIN page s
                CROSS JOIN LATERAL (\(Fragment.selectSubscriptions("b.id"))) b
            ),
            due AS (
                UPDATE delivery d SET due_at = clock_timestamp()
                FROM pair x
                WHERE \(Self.isAwaited)
                    AND coalesce(d.attempted_at < x.launched_at, true)
            ),
            moved AS (
                UPDATE client_resumption r SET resumed_before = (
                    SELECT p.id FROM page p ORDER BY p.id LIMIT 1)
                FROM chosen x
                WHERE r.client_id = ANY (ARRAY[x.client_id])
                    AND (SELECT count(*) FROM page) = x.sessions
                RETURNING r.client_id
            ),
            done AS (
                DELETE FROM client_resumption WHERE client_id = (
                    SELECT x.client_id FROM chosen x
                    WHERE (SELECT count(*) FROM page) < x.sessions)
            )
            SELECT client_id FROM moved
            """,
        ])
        return !rows[1].isEmpty
    }

    /// Whether a delivery `d` is that of a subscription in a session, and waits.
    ///
    /// The date is compared within an expression: a plan that was made for a table of a row at most
    /// would else read all that are due.
    private static let isAwaited: Query = """
        \(Fragment.isDelivery(of: "x.subscription_id", in: "x.session_id"))
            AND coalesce(d.due_at > clock_timestamp(), false) AND d.fence IS NULL
        """

    /// The number of sessions of a client `c` in a page: the fewer, the more subscriptions hear of
    /// each.
    private static let sessionsOfPage: Query = """
        (SELECT greatest(1, \(resumedMax) / greatest(1, count(*))) FROM (
            SELECT b.id
            FROM (SELECT c.tenant_id, c.identifier AS client, NULL::text AS identifier) s
            CROSS JOIN LATERAL (\(Fragment.selectSubscriptions("b.id"))) b) k)
        """

    /// Returns the statements by which a launch after a force-quit stores that the client's
    /// deliveries are to become due, and makes the first of them so.
    ///
    /// The first are those of living sessions, of the client's own log, and of its own
    /// subscriptions to the tenant's.
    ///
    /// An unacknowledged end is reported again, because the process that worked on it is gone. A
    /// claim that sets deliveries to wait locks the client, so that none does it beside this.
    static func resume(_ client: ClientID, of tenant: TenantID) -> [Query] {
        let isActive: Query = "\(ClientStore.isNamed(client, tenant)) AND c.lifecycle = 'active'"
        let columns: Query = "x.id, x.tenant_id, x.client, x.identifier"
        let living = ClientStore.selectLiving(columns, of: client, tenant)
        return [
            // Before the deliveries, as for each page.
            """
            INSERT INTO client_resumption (client_id, tenant_id, launched_at, resumed_before)
            SELECT c.id, c.tenant_id, clock_timestamp(), \(UUID.last) FROM client c
            WHERE \(isActive)
            ON CONFLICT (client_id) DO UPDATE SET
                launched_at = excluded.launched_at, resumed_before = excluded.resumed_before
            """,
            """
            UPDATE delivery d SET due_at = clock_timestamp()
            FROM (
                SELECT s.id AS session_id, b.id AS subscription_id
                FROM (
                    (\(living) LIMIT (
                        SELECT \(sessionsOfPage) FROM client c WHERE \(ClientStore.isNamed(client, tenant))))
                    UNION ALL
                    SELECT c.id, c.tenant_id, c.identifier, NULL FROM client c
                    WHERE \(ClientStore.isNamed(client, tenant))
                ) s
                CROSS JOIN LATERAL (\(Fragment.selectSubscriptions("b.id"))) b
                UNION ALL
                SELECT b.tenant_id, b.id FROM subscription b
                WHERE b.is_living AND b.tenant_id = \(tenant.uuid) AND b.client = \(client.name)
            ) x
            WHERE EXISTS (SELECT 1 FROM client c WHERE \(isActive))
                AND \(isAwaited)
            """,
        ]
    }
}
