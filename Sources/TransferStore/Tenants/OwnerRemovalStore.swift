import Foundation
import Postgres
package import TransferModel

/// The removal of tenants, and of single clients, with everything that they own, in pages that any
/// instance continues.
package struct OwnerRemovalStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension OwnerRemovalStore {
    /// The number of sessions examined by one page.
    static let sessionsMax = 100
    /// The number of subscriptions ended by one page.
    static let subscriptionsMax = 500
    /// The number of rows that one page removes from a table.
    static let rowsMax = 1000
    /// The number of tenants, and of clients, removed at the same time.
    private static let ownersMax = 100

    /// What is left of an owner after a page.
    package enum Rest: Equatable, Sendable {
        /// Rows for another page.
        case more
        /// Sessions or subscriptions that others cancel, erase or remove first.
        case waiting
        /// The row of the owner itself and, of a tenant, files.
        case itself
    }

    /// Returns what a tenant owns, or nil when there is none of that name.
    ///
    /// It counts rows, which takes time in proportion to the sessions that are kept.
    package func tenantHoldings(named name: String) async throws(StoreError) -> TenantHoldings? {
        let rows = try await database.run(
            """
            SELECT n.tasks, n.outstanding, n.stored_bytes,
                (SELECT count(*) FROM session s WHERE s.tenant_id = n.id) AS sessions,
                (SELECT count(*) FROM subscription b
                    WHERE b.tenant_id = n.id AND b.deleted_at IS NULL) AS subscriptions,
                (SELECT count(*) FROM client c WHERE c.tenant_id = n.id) AS clients,
                (SELECT count(*) FROM credential k
                    WHERE k.tenant_id = n.id AND k.name IS NOT NULL) AS credentials,
                (SELECT count(*) FROM api_key a WHERE a.tenant_id = n.id) AS keys
            FROM (
                SELECT t.id, coalesce(sum(k.tasks), 0)::bigint AS tasks,
                    coalesce(sum(k.tasks) FILTER (
                        WHERE k.state NOT IN ('completed', 'failed', 'cancelled')), 0)::bigint
                        AS outstanding,
                    (\(TenantStore.storedBytes(of: "t.id")))::bigint AS stored_bytes
                FROM tenant t
                LEFT JOIN LATERAL (\(CountStore.selectCounts(ofTenant: "t.id"))) k ON true
                WHERE t.name = \(name) GROUP BY t.id
            ) n
            """
        )
        guard let row = rows.first else { return nil }
        return TenantHoldings(
            sessions: try row.decode("sessions"),
            tasks: try row.decode("tasks"),
            outstandingTasks: try row.decode("outstanding"),
            storedBytes: try row.decode("stored_bytes"),
            subscriptions: try row.decode("subscriptions"),
            clients: try row.decode("clients"),
            credentials: try row.decode("credentials"),
            keys: try row.decode("keys")
        )
    }

    /// Decides that a tenant is removed: its keys end, and its name is free for another tenant.
    ///
    /// Its first subscriptions end too; ``advanceRemoval(of:)`` ends those behind them.
    ///
    /// - Returns: false when there is no tenant of that name.
    package func beginTenantRemoval(named name: String) async throws(StoreError) -> Bool {
        let tenant: Query = "SELECT id FROM tenant WHERE name = \(name) AND removed_at IS NULL"
        let rows = try await database.run([
            """
            UPDATE api_key SET revoked_at = coalesce(revoked_at, clock_timestamp())
            WHERE tenant_id = (\(tenant))
            """,
            Self.endSubscriptions(where: "b.tenant_id = (\(tenant))"),
            """
            UPDATE tenant SET removed_at = clock_timestamp(), name = 'removed:' || id
            WHERE id = (\(tenant))
            """,
        ])
        return rows[2].affectedCount == 1
    }

    /// Returns what is being removed, the first of each kind if there are many.
    package func ownersBeingRemoved() async throws(StoreError) -> [RemovedOwner] {
        let rows = try await database.run([
            """
            SELECT id FROM tenant WHERE removed_at IS NOT NULL ORDER BY id LIMIT \(Self.ownersMax)
            """,
            """
            SELECT c.id, c.tenant_id, c.identifier FROM client c
            WHERE c.removed_at IS NOT NULL
                -- Those of a tenant that is being removed go with it.
                AND (SELECT t.removed_at FROM tenant t WHERE t.id = c.tenant_id) IS NULL
            ORDER BY c.id LIMIT \(Self.ownersMax)
            """,
        ])
        let tenants = try rows[0].map { row throws(StoreError) in
            RemovedOwner.tenant(try row.tenant("id"))
        }
        let clients = try rows[1].map { row throws(StoreError) in
            RemovedOwner.client(
                try row.client("identifier"),
                log: try row.session("id"),
                of: try row.tenant("tenant_id")
            )
        }
        return tenants + clients
    }

    /// Removes a page of what belongs to an owner, one instance at a time.
    ///
    /// Subscriptions end first, so that nobody is told of the end of the sessions. These follow,
    /// and their tasks are cancelled and erased as those of ephemeral sessions are; the rest is
    /// last. Nothing is remembered between two pages: each finds what is left.
    package func advanceRemoval(of owner: RemovedOwner) async throws(StoreError) -> Rest {
        guard try await endSubscriptions(of: owner) < Self.subscriptionsMax else { return .more }
        try await endSessions(of: owner)
        let rows = try await database.run([
            forgetExpiredTasks(of: owner),
            eraseSessions(of: owner),
            """
            SELECT \(PartitionStore.isElected(for: .owners)) AS is_elected,
                (SELECT s.id FROM session s WHERE \(owner.hasSession) LIMIT 1) IS NULL
                AND (SELECT b.id FROM subscription b WHERE \(owner.hasSubscription) LIMIT 1) IS NULL
                AND (SELECT m.tenant_id FROM task_move m WHERE \(owner.hasNews) LIMIT 1) IS NULL
                AS is_empty
            """,
        ])
        let forgotten = try rows[0].first?.decode("removed", as: Int64.self) ?? 0
        guard let row = rows[2].first, try row.decode("is_elected") else { return .waiting }
        guard try row.decode("is_empty") else {
            return forgotten == Int64(Self.rowsMax) ? .more : .waiting
        }
        return try await removeRest(of: owner) ? .more : .itself
    }

    /// Ends a page of subscriptions, and all keys that a request under way has added since.
    ///
    /// - Returns: the number of subscriptions.
    private func endSubscriptions(of owner: RemovedOwner) async throws(StoreError) -> Int {
        var ends = [Self.endSubscriptions(where: owner.hasSubscription)]
        if case .tenant(let tenant) = owner {
            ends.append(
                """
                UPDATE api_key SET revoked_at = clock_timestamp()
                WHERE tenant_id = \(tenant.uuid) AND revoked_at IS NULL
                """
            )
        }
        return try await database.run(ends)[0].affectedCount
    }

    /// Returns the statement that ends up to ``subscriptionsMax`` of the subscriptions `b` that
    /// meet `condition`, which names their tenant.
    ///
    /// They count as deleted since ever, also those that were deleted before, and so they are
    /// removed before all others: nobody asks for their logs any more.
    static func endSubscriptions(where condition: Query) -> Query {
        """
        UPDATE subscription SET deleted_at = '-infinity' WHERE id = ANY (ARRAY(
            (SELECT b.id FROM subscription b
            WHERE \(condition) AND b.is_living LIMIT \(subscriptionsMax))
            UNION ALL
            (SELECT b.id FROM subscription b
            WHERE \(condition) AND b.deleted_at > '-infinity'
            ORDER BY b.deleted_at LIMIT \(subscriptionsMax))
            LIMIT \(subscriptionsMax)))
        """
    }

    /// The first sessions of an owner, which are gone before those behind them are looked at.
    private func chosen(of owner: RemovedOwner) -> Query {
        """
        chosen AS MATERIALIZED (
            SELECT s.id, s.invalidated_at FROM session s
            WHERE \(owner.hasSession) AND \(PartitionStore.isElected(for: .owners))
            ORDER BY s.tenant_id, s.client, s.identifier COLLATE "C" LIMIT \(Self.sessionsMax)
        )
        """
    }

    /// Ends living sessions as an invalidation does; their tasks are cancelled in pages.
    private func endSessions(of owner: RemovedOwner) async throws(StoreError) {
        _ = try await database.run(
            """
            WITH \(chosen(of: owner)),
            locked AS MATERIALIZED (
                SELECT p.session_id
                FROM chosen c JOIN session_progress p ON p.session_id = ANY (ARRAY[c.id])
                WHERE c.invalidated_at IS NULL AND NOT p.is_invalidated
                ORDER BY p.session_id FOR UPDATE OF p
            ),
            counter AS (
                UPDATE session_progress p SET
                    is_invalidated = true, is_finishing = p.outstanding > 0,
                    last_sequence = p.last_sequence + (p.outstanding = 0)::int
                FROM locked l WHERE p.session_id = ANY (ARRAY[l.session_id])
                RETURNING p.session_id, p.generation, p.last_sequence - 1 AS base,
                    p.outstanding = 0 AS is_drained, true AS is_ended
            ),
            \(SessionStore.tellInvalidated(where: "c.is_drained")),
            \(SessionStore.endSessions),
            \(Fragment.wake)
            SELECT session_id FROM counter
            """
        )
    }

    /// Returns the statement that removes what was kept of expired tasks, retried failures and bulk
    /// operations.
    private func forgetExpiredTasks(of owner: RemovedOwner) -> Query {
        """
        WITH \(chosen(of: owner)),
        removed AS (
            DELETE FROM expired_task WHERE ctid = ANY (ARRAY(
                SELECT x.row FROM chosen c CROSS JOIN LATERAL (
                    SELECT x.ctid AS row FROM expired_task x WHERE x.session_id = c.id
                    LIMIT \(Self.rowsMax)) x
                LIMIT \(Self.rowsMax)))
            RETURNING task_id
        ),
        operation_row AS (
            DELETE FROM bulk_operation WHERE session_id = ANY (ARRAY(
                SELECT c.id FROM chosen c WHERE c.invalidated_at IS NOT NULL))
        ),
        string_row AS (
            DELETE FROM client_string_change WHERE task_id = ANY (ARRAY(SELECT task_id FROM removed))
        ),
        failure_row AS (
            DELETE FROM retried_failure WHERE ctid = ANY (ARRAY(
                SELECT x.row FROM chosen c CROSS JOIN LATERAL (
                    SELECT x.ctid AS row FROM retried_failure x WHERE x.session_id = c.id
                    LIMIT \(Self.rowsMax)) x
                LIMIT \(Self.rowsMax)))
            RETURNING 1
        )
        SELECT greatest((SELECT count(*) FROM removed), (SELECT count(*) FROM failure_row))
            AS removed
        """
    }

    /// Returns the statement that gives ended sessions to the erasure, which waits for no
    /// subscriber of theirs.
    private func eraseSessions(of owner: RemovedOwner) -> Query {
        """
        WITH \(chosen(of: owner)),
        ended AS MATERIALIZED (
            SELECT c.id, (SELECT e.begun_at FROM erasure e WHERE e.session_id = c.id) AS begun_at
            FROM chosen c
            WHERE c.invalidated_at IS NOT NULL
                AND (SELECT x.task_id FROM expired_task x
                    WHERE x.session_id = c.id LIMIT 1) IS NULL
                AND (SELECT x.task_id FROM retried_failure x
                    WHERE x.session_id = c.id LIMIT 1) IS NULL
        ),
        -- What the erasure is removing just now is locked.
        waiting AS MATERIALIZED (
            SELECT e.session_id
            FROM ended d JOIN erasure e ON e.session_id = ANY (ARRAY[d.id])
            WHERE d.begun_at > '-infinity'
            FOR UPDATE OF e SKIP LOCKED
        ),
        hastened AS (
            UPDATE erasure e SET begun_at = '-infinity'
            FROM waiting w WHERE e.session_id = ANY (ARRAY[w.session_id])
        )
        -- One that was given already may be gone by now, with its session.
        INSERT INTO erasure (session_id, begun_at)
        SELECT d.id, '-infinity' FROM ended d WHERE d.begun_at IS NULL ORDER BY d.id
        ON CONFLICT (session_id) DO NOTHING
        """
    }

    /// Removes an owner of which nothing else is left; the tenant of a client is told by
    /// `client.removed`.
    ///
    /// - Returns: false when there was none.
    @discardableResult
    package func finishRemoval(of owner: RemovedOwner) async throws(StoreError) -> Bool {
        let removal: [Query] =
            switch owner {
            case .tenant(let tenant):
                [
                    "DELETE FROM client WHERE tenant_id = \(tenant.uuid)",
                    "DELETE FROM api_key WHERE tenant_id = \(tenant.uuid)",
                    "DELETE FROM tenant_task_count WHERE tenant_id = \(tenant.uuid)",
                    "DELETE FROM feed_tenant WHERE tenant_id = \(tenant.uuid)",
                    "DELETE FROM pause WHERE tenant_id = \(tenant.uuid)",
                    "DELETE FROM tenant WHERE id = \(tenant.uuid) AND removed_at IS NOT NULL",
                ]
            case .client(_, let log, _): [Self.removeClient(log)]
            }
        let rows = try await database.run(
            [
                // The clients first, as everywhere.
                "SELECT c.id FROM client c WHERE c.id = ANY (\(owner.clients)) FOR UPDATE",
                "DELETE FROM feed_session WHERE session_id = ANY (\(owner.logs))",
                "DELETE FROM session_progress WHERE session_id = ANY (\(owner.logs))",
                "DELETE FROM timer WHERE subject = ANY (\(owner.clients))",
            ] + removal
        )
        return rows[rows.count - 1].affectedCount == 1
    }

    private static func removeClient(_ log: SessionID) -> Query {
        """
        WITH gone AS (
            DELETE FROM client WHERE id = \(log.uuid) AND removed_at IS NOT NULL
            RETURNING tenant_id, identifier, kind
        ),
        \(EventRuns.recordTenantEvent(
            .clientRemoved,
            of: "gone",
            details: "jsonb_build_object('client', x.identifier, 'kind', x.kind)"
        ))
        SELECT tenant_id FROM gone
        """
    }
}

/// What belongs to an owner. Of a client these are rows that name it, in the tenant's tables.
extension RemovedOwner {
    /// Whether a session `s` is the owner's.
    var hasSession: Query {
        switch self {
        case .tenant(let tenant): "s.tenant_id = \(tenant.uuid)"
        case .client(let client, log: _, of: let tenant):
            "s.tenant_id = \(tenant.uuid) AND s.client = \(client.name)"
        }
    }

    /// Whether a subscription `b` is the owner's, which may have been deleted.
    var hasSubscription: Query {
        switch self {
        case .tenant(let tenant): "b.tenant_id = \(tenant.uuid)"
        case .client(let client, log: _, of: let tenant):
            "b.tenant_id = \(tenant.uuid) AND b.client = \(client.name)"
        }
    }

    /// Whether a row `m` of `task_move` is about the owner; of a client without sessions, about its
    /// own log.
    var hasNews: Query {
        switch self {
        case .tenant(let tenant): "m.tenant_id = \(tenant.uuid)"
        case .client(_, let log, of: let tenant):
            "m.tenant_id = \(tenant.uuid) AND m.session_id = \(log.uuid)"
        }
    }

    /// The identifiers of the owner's clients, as an array.
    var clients: Query {
        switch self {
        case .tenant(let tenant):
            "ARRAY(SELECT c.id FROM client c WHERE c.tenant_id = \(tenant.uuid))"
        case .client(_, let log, of: _): "ARRAY[\(log.uuid)]"
        }
    }

    /// The logs of the owner outside its sessions, as an array.
    var logs: Query {
        switch self {
        case .tenant(let tenant): "\(clients) || \(tenant.uuid)"
        case .client: clients
        }
    }
}
