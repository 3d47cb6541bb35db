import Postgres
import TransferModel

/// What an owner has beside its sessions and subscriptions.
extension OwnerRemovalStore {
    /// Removes up to ``rowsMax`` rows of each table.
    ///
    /// - Returns: whether there were any.
    func removeRest(of owner: RemovedOwner) async throws(StoreError) -> Bool {
        let clients = owner.clients
        var removals: [Query] = [
            Self.removeRuns(of: clients),
            Self.removeRequests(of: clients),
            Self.remove("background_task_handler", where: "x.client_id = ANY (\(clients))"),
            Self.remove("assertion", where: "x.client_id = ANY (\(clients))"),
            Self.remove("assertion_leak", where: "x.client_id = ANY (\(clients))"),
            Self.remove("client_resumption", where: "x.client_id = ANY (\(clients))"),
            Self.removeLeases(of: clients),
            Self.removeEvents(of: owner.logs),
            Self.removeDeliveries(of: owner),
        ]
        if case .tenant(let tenant) = owner {
            let isOfTenant: Query = "x.tenant_id = \(tenant.uuid)"
            removals += [
                Self.removeFeed(of: tenant),
                Self.remove("idempotency_key", where: isOfTenant),
                Self.remove("credential", where: isOfTenant),
                Self.remove("host_tenant", where: isOfTenant),
                Self.remove("bulk_operation", where: isOfTenant),
                Self.remove("staged_body", where: isOfTenant),
                Self.remove("resume_data", where: isOfTenant),
            ]
        }
        let rows = try await database.run(removals)
        return rows.contains { $0.affectedCount > 0 }
    }

    /// Returns the statement that removes rows of a table, and has as many rows as it found.
    ///
    /// A row that is being written is passed by, because it has another place then; it counts, so
    /// that it is looked for again.
    private static func remove(_ table: String, where condition: Query) -> Query {
        """
        WITH page AS MATERIALIZED (
            SELECT x.ctid AS row FROM \(identifier: table) x WHERE \(condition) LIMIT \(rowsMax)
        ),
        removed AS (
            DELETE FROM \(identifier: table) WHERE ctid = ANY (ARRAY(SELECT p.row FROM page p))
        )
        SELECT 1 FROM page
        """
    }

    /// Returns the statement that gives back leases, but none that another client has taken over
    /// meanwhile.
    private static func removeLeases(of clients: Query) -> Query {
        SessionStore.removeOwners(
            of: """
                SELECT x.task_id, x.client_id FROM task_owner x
                WHERE x.client_id = ANY (\(clients)) AND x.expires_at IS NOT NULL LIMIT \(rowsMax)
                """,
            where: "o.client_id = p.client_id AND o.expires_at IS NOT NULL"
        )
    }

    private static func removeRuns(of clients: Query) -> Query {
        """
        WITH run AS MATERIALIZED (
            SELECT r.id FROM background_task_run r WHERE r.client_id = ANY (\(clients))
            LIMIT \(rowsMax)
        ),
        transfer_row AS (
            DELETE FROM background_task_transfer WHERE run_id = ANY (ARRAY(SELECT id FROM run))
        ),
        timer_row AS (DELETE FROM timer WHERE subject = ANY (ARRAY(SELECT id FROM run)))
        DELETE FROM background_task_run WHERE id = ANY (ARRAY(SELECT id FROM run))
        """
    }

    private static func removeRequests(of clients: Query) -> Query {
        """
        WITH request AS MATERIALIZED (
            SELECT q.id FROM background_task_request q WHERE q.client_id = ANY (\(clients))
            LIMIT \(rowsMax)
        ),
        timer_row AS (DELETE FROM timer WHERE subject = ANY (ARRAY(SELECT id FROM request)))
        DELETE FROM background_task_request WHERE id = ANY (ARRAY(SELECT id FROM request))
        """
    }

    /// Returns the statement that removes the oldest events of one of the array `logs`.
    private static func removeEvents(of logs: Query) -> Query {
        """
        WITH log AS MATERIALIZED (
            SELECT l.id, r.first_sequence FROM unnest(\(logs)) AS l (id)
            CROSS JOIN LATERAL (\(EventRuns.selectOldest("r.first_sequence", of: "l.id"))) r
            LIMIT 1
        )
        DELETE FROM event_run
        WHERE session_id = (SELECT id FROM log)
            AND last_sequence < (SELECT first_sequence FROM log) + \(rowsMax)
        """
    }

    /// Returns the statement that removes what subscriptions have had, and would get, of the
    /// owner's own logs; those of the owner are gone with theirs.
    ///
    /// What is left are the tenant's to everything. What deleted ones have had goes with these.
    private static func removeDeliveries(of owner: RemovedOwner) -> Query {
        """
        WITH subscriber AS MATERIALIZED (
            SELECT b.id, l.id AS log FROM subscription b CROSS JOIN unnest(\(owner.logs)) AS l (id)
            WHERE b.is_living AND b.tenant_id = \(owner.tenant.uuid) AND b.client IS NULL
                AND b.session_identifier IS NULL
        ),
        page AS MATERIALIZED (
            SELECT b.id, b.log FROM subscriber b CROSS JOIN LATERAL (
                SELECT 1 FROM delivery d
                WHERE \(Fragment.isDelivery(of: "b.id", in: "b.log")) LIMIT 1) d
            LIMIT \(rowsMax)
        ),
        cursor_row AS (
            DELETE FROM delivery d USING page p
            WHERE \(Fragment.isDelivery(of: "p.id", in: "p.log"))
            RETURNING d.session_id
        ),
        logged AS MATERIALIZED (
            SELECT l.row FROM subscriber b CROSS JOIN LATERAL (
                \(DeliveryLogStore.selectRows(of: "b.id", in: "b.log"))
                LIMIT \(rowsMax)) l
            LIMIT \(rowsMax)
        ),
        log_row AS (
            DELETE FROM delivery_log WHERE ctid = ANY (ARRAY(SELECT l.row FROM logged l))
        )
        -- One that is being written is passed by, and looked for again.
        SELECT 1 FROM cursor_row UNION ALL SELECT 1 FROM logged
        """
    }

    /// Returns the statement that removes the oldest entries of the tenant's feed.
    private static func removeFeed(of tenant: TenantID) -> Query {
        """
        WITH page AS MATERIALIZED (
            SELECT f.last_position FROM event_feed f WHERE f.tenant_id = \(tenant.uuid)
            ORDER BY f.last_position LIMIT \(rowsMax)
        )
        DELETE FROM event_feed
        WHERE tenant_id = \(tenant.uuid)
            AND last_position <= (SELECT last_position FROM page ORDER BY last_position DESC LIMIT 1)
        """
    }
}
