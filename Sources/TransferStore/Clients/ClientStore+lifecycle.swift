import Foundation
import Postgres
package import TransferModel

extension ClientStore {
    /// The number of leases of a client that its end gives back; more than that end by themselves.
    private static let leasesMax = 10_000

    /// Records that a client has gone into the background; one that was force-quit stays so.
    ///
    /// It is suspended after ``Client/grace``, or when it has ended its assertions.
    ///
    /// - Returns: the client as it then is, or nil when the tenant has none of that name.
    package func enterBackground(
        tenant: TenantID,
        id: ClientID
    ) async throws(StoreError) -> Client? {
        try await move(
            id,
            of: tenant,
            to: .background,
            where: "c.lifecycle NOT IN ('background', 'force_quit')"
        )
    }

    /// Records that a running client no longer does anything; one that holds an assertion stays as
    /// it is.
    ///
    /// - Returns: the client as it then is, or nil when the tenant has none of that name.
    package func suspend(tenant: TenantID, id: ClientID) async throws(StoreError) -> Client? {
        try await move(
            id,
            of: tenant,
            to: .suspended,
            where: """
                c.lifecycle IN ('active', 'background') AND NOT EXISTS (
                    SELECT 1 FROM assertion a WHERE a.client_id = c.id AND a.ended_at IS NULL)
                """
        )
    }

    /// Records that a client's process is gone; one that was force-quit stays so.
    ///
    /// Its assertions end, and its leases on tasks are given back.
    ///
    /// - Returns: the client as it then is, or nil when the tenant has none of that name.
    package func terminate(tenant: TenantID, id: ClientID) async throws(StoreError) -> Client? {
        try await move(
            id,
            of: tenant,
            to: .terminated,
            where: "c.lifecycle NOT IN ('terminated', 'force_quit')"
        )
    }

    private func move(
        _ id: ClientID,
        of tenant: TenantID,
        to lifecycle: Client.Lifecycle,
        where condition: Query
    ) async throws(StoreError) -> Client? {
        let rows = try await database.run(
            [Self.lock(id, of: tenant)]
                + Self.requestMove(of: id, tenant, to: lifecycle, where: condition)
                + [Self.selectClient(tenant, id)]
        )
        return try first(rows[rows.count - 1])
    }

    /// Returns the statement that locks a client, so that the statements after it see it as it is.
    static func lock(_ id: ClientID, of tenant: TenantID) -> Query {
        """
        SELECT c.id FROM client c WHERE \(isNamed(id, tenant)) FOR NO KEY UPDATE
        """
    }

    /// Whether a client, `c` unless it has another alias, is the one of that name, and is not being
    /// removed.
    static func isNamed(_ id: ClientID, _ tenant: TenantID, as alias: Query = "c") -> Query {
        """
        \(alias).tenant_id = \(tenant.uuid) AND \(alias).identifier = \(id.name)
        AND \(alias).removed_at IS NULL
        """
    }

    /// Returns the statements that move a locked client `c` if it is as `condition` says.
    static func requestMove(
        of id: ClientID,
        _ tenant: TenantID,
        to lifecycle: Client.Lifecycle,
        where condition: Query
    ) -> [Query] {
        [
            """
            WITH target AS MATERIALIZED (
                SELECT c.id, c.tenant_id, c.lifecycle AS before, c.assertions_end_at,
                    \(lifecycle.rawValue) AS lifecycle,
                    \(LifecycleChange.Reason.requested.rawValue) AS reason
                FROM client c WHERE \(isNamed(id, tenant)) AND \(condition)
            ),
            \(moveTargets),
            happening AS (SELECT * FROM move_event),
            \(EventRuns.recordClientEvents)
            SELECT id FROM moved
            """
        ] + setTimers(of: "c.id = (SELECT c.id FROM client c WHERE \(isNamed(id, tenant)))")
    }

    /// The CTEs that move locked clients.
    ///
    /// Expects `target(id, tenant_id, before, assertions_end_at, lifecycle, reason)`; offers
    /// `moved` and `move_event(client_id, place, kind, subject, details)`. After it the clients'
    /// timers have to be set.
    static let moveTargets: Query = """
        moved AS (
            UPDATE client c SET
                lifecycle = t.lifecycle, lifecycle_changed_at = clock_timestamp(),
                grace_ends_at = CASE t.lifecycle WHEN 'background' THEN
                    clock_timestamp() + \(Client.grace.milliseconds) * interval '1 ms' END,
                assertions_end_at = CASE t.lifecycle WHEN 'background' THEN
                    clock_timestamp() + n.assertion_budget_ms * interval '1 ms' END
            FROM target t CROSS JOIN LATERAL (
                SELECT assertion_budget_ms FROM tenant WHERE id = t.tenant_id LIMIT 1
            ) n
            WHERE c.id = ANY (ARRAY[t.id])
            RETURNING c.id, t.before, c.lifecycle, t.reason, t.assertions_end_at
        ),
        -- In the next background its assertions have the whole time again.
        unwarned AS (
            UPDATE assertion a SET is_expiring = false FROM moved m
            WHERE m.lifecycle = 'active' AND a.client_id = m.id AND a.ended_at IS NULL
                AND a.is_expiring
        ),
        dropped AS (
            UPDATE assertion a SET
                ended_at = clock_timestamp(), is_leaked = m.reason = 'assertion_leaked'
            FROM moved m
            WHERE m.lifecycle NOT IN ('active', 'background') AND a.client_id = m.id
                AND a.ended_at IS NULL
            RETURNING a.client_id, a.id, a.name, a.is_leaked, m.assertions_end_at
        ),
        leaked AS MATERIALIZED (
            SELECT client_id, name, count(*) AS times FROM dropped WHERE is_leaked
            GROUP BY client_id, name
        ),
        leak_row AS (
            INSERT INTO assertion_leak AS l (client_id, name, count, leaked_at)
            SELECT client_id, name, times, clock_timestamp() FROM leaked
            ORDER BY client_id, name
            ON CONFLICT (client_id, name)
            DO UPDATE SET count = l.count + excluded.count, leaked_at = excluded.leaked_at
        ),
        -- Of the names beside these, only as many as are shown.
        forgotten_leak AS (
            DELETE FROM assertion_leak WHERE ctid = ANY (ARRAY(
                SELECT o.row FROM (
                    SELECT client_id, count(*) AS names FROM leaked GROUP BY client_id
                ) n CROSS JOIN LATERAL (
                    SELECT x.ctid AS row FROM assertion_leak x
                    WHERE x.client_id = n.client_id AND NOT EXISTS (
                        SELECT 1 FROM leaked k
                        WHERE k.client_id = x.client_id AND k.name = x.name)
                    ORDER BY x.leaked_at DESC, x.name
                    OFFSET greatest(\(Int64(AssertionLeak.namesMax)) - n.names, 0)
                ) o))
        ),
        -- Not one that another client has taken over meanwhile.
        lease_row AS (
            \(SessionStore.removeOwners(
                of: """
                    SELECT w.task_id, m.id AS client_id FROM moved m CROSS JOIN LATERAL (
                        SELECT x.task_id FROM task_owner x
                        WHERE x.client_id = m.id AND x.expires_at IS NOT NULL LIMIT \(leasesMax)
                    ) w
                    WHERE m.lifecycle IN ('terminated', 'force_quit')
                    """,
                where: "o.client_id = p.client_id AND o.expires_at IS NOT NULL"
            ))
        ),
        move_event AS (
            SELECT client_id, row_number() OVER (ORDER BY id) AS place,
                'assertion.expired' AS kind, id AS subject,
                \(AssertionStore.details) AS details
            FROM dropped WHERE is_leaked
            UNION ALL
            SELECT id, 1000000, 'client.lifecycle_changed', id,
                jsonb_build_object('from', before, 'to', lifecycle, 'reason', reason)
            FROM moved
        )
        """

    /// Returns the statements that set the timers of the locked clients `c` that `condition` names.
    static func setTimers(of condition: Query) -> [Query] {
        [
            """
            INSERT INTO timer (subject, kind, tenant_id, due_at)
            SELECT c.id, 'client', c.tenant_id, CASE
                WHEN a.held = 0 THEN c.grace_ends_at
                WHEN a.unwarned > 0 THEN c.assertions_end_at
                    - \(Assertion.notice.milliseconds) * interval '1 ms'
                ELSE c.assertions_end_at END
            FROM client c CROSS JOIN LATERAL (
                SELECT count(*) AS held, count(*) FILTER (WHERE NOT x.is_expiring) AS unwarned
                FROM assertion x WHERE x.client_id = c.id AND x.ended_at IS NULL
            ) a
            WHERE \(condition) AND c.lifecycle = 'background'
            ORDER BY c.id
            ON CONFLICT (subject) DO UPDATE SET due_at = excluded.due_at, fence = NULL
            """,
            """
            DELETE FROM timer WHERE subject = ANY (ARRAY(
                SELECT c.id FROM client c WHERE \(condition) AND c.lifecycle <> 'background'))
            """,
        ]
    }
}

extension ClientStore {
    /// Decides that a client is removed with all it owns: it is force-quit, and its first
    /// subscriptions end.
    ///
    /// From the commit on it takes nothing new and is not launched again; ``OwnerRemovalStore``
    /// removes the rest. The call may be repeated.
    ///
    /// - Returns: the client as it then is, or nil when the tenant has none of that name.
    package func beginClientRemoval(tenant: TenantID, id: ClientID) async throws(StoreError)
        -> Client?
    {
        try await forceQuit(
            id,
            of: tenant,
            and: [
                OwnerRemovalStore.endSubscriptions(
                    where: """
                        b.tenant_id = \(tenant.uuid) AND b.client = \(id.name)
                        AND EXISTS (SELECT 1 FROM client c WHERE \(Self.isNamed(id, tenant)))
                        """
                ),
                """
                UPDATE client c SET removed_at = clock_timestamp() WHERE \(Self.isNamed(id, tenant))
                """,
            ]
        )
    }
}
