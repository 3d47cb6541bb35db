import Postgres
import TransferModel

/// What a tenant owns beside its sessions and subscriptions.
extension TenantRemovalStore {
    /// Removes up to ``rowsMax`` rows of each table.
    ///
    /// - Returns: whether there were any.
    func removeRest(of tenant: TenantID) async throws(StoreError) -> Bool {
        let clients: Query = """
            ARRAY(SELECT c.id FROM client c WHERE c.tenant_id = \(tenant.uuid))
            """
        let id: Query = "\(tenant.uuid)"
        let rows = try await database.run([
            Self.removeRuns(of: clients),
            Self.removeRequests(of: clients),
            Self.remove("background_task_handler", where: "x.client_id = ANY (\(clients))"),
            Self.remove("assertion", where: "x.client_id = ANY (\(clients))"),
            Self.remove("assertion_leak", where: "x.client_id = ANY (\(clients))"),
            Self.removeEvents(ofClientsOf: tenant),
            Self.removeFeed(of: tenant),
            Self.remove("idempotency_key", where: "x.tenant_id = \(id)"),
            Self.remove("credential", where: "x.tenant_id = \(id)"),
            Self.remove("host_tenant", where: "x.tenant_id = \(id)"),
            Self.remove("bulk_operation", where: "x.tenant_id = \(id)"),
            Self.remove("staged_body", where: "x.tenant_id = \(id)"),
            Self.remove("resume_data", where: "x.tenant_id = \(id)"),
        ])
        return rows.contains { $0.affectedCount > 0 }
    }

    private static func remove(_ table: String, where condition: Query) -> Query {
        """
        DELETE FROM \(identifier: table) WHERE ctid = ANY (ARRAY(
            SELECT x.ctid FROM \(identifier: table) x WHERE \(condition) LIMIT \(rowsMax)))
        """
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

    /// Returns the statement that removes the oldest events of one client's own log.
    private static func removeEvents(ofClientsOf tenant: TenantID) -> Query {
        """
        WITH log AS MATERIALIZED (
            SELECT c.id, r.first_sequence FROM client c
            CROSS JOIN LATERAL (\(EventRuns.selectOldest("r.first_sequence", of: "c.id"))) r
            WHERE c.tenant_id = \(tenant.uuid) LIMIT 1
        )
        DELETE FROM event_run
        WHERE session_id = (SELECT id FROM log)
            AND last_sequence < (SELECT first_sequence FROM log) + \(rowsMax)
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
