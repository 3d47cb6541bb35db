import Foundation
import Postgres
package import TransferModel

/// The clients of a tenant, their state and their end.
package struct ClientStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension ClientStore {
    /// Creates the tenant's client `id`, unless it exists.
    ///
    /// - Returns: the client, whose kind may differ if it existed, and whether this call created
    ///   it; one that is being removed stays so.
    package func putClient(
        tenant: TenantID,
        id: ClientID,
        kind: Client.Kind
    ) async throws(StoreError) -> (client: Client, isCreated: Bool) {
        let room = Database.hasRoom(
            in: "SELECT 1 FROM client x WHERE x.tenant_id = \(tenant.uuid)",
            maximum: Quota.clientsMax
        )
        let rows = try await database.run([
            """
            INSERT INTO client (tenant_id, identifier, kind)
            SELECT \(tenant.uuid), \(id.name), \(kind.rawValue) WHERE \(room)
            ON CONFLICT (tenant_id, identifier) DO NOTHING
            """,
            Self.selectClient(tenant, id),
        ])
        guard let row = rows[1].first else {
            throw .quotaExceeded(Quota(.clients, maximum: Quota.clientsMax))
        }
        return (client: try Client(row), isCreated: rows[0].affectedCount == 1)
    }

    /// Returns the tenant's client `id`.
    package func client(tenant: TenantID, id: ClientID) async throws(StoreError) -> Client? {
        try first(try await database.run(Self.selectClient(tenant, id)))
    }

    static func selectClient(_ tenant: TenantID, _ id: ClientID) -> Query {
        """
        SELECT \(clientColumns) FROM client c
        WHERE c.tenant_id = \(tenant.uuid) AND c.identifier = \(id.name)
        """
    }

    /// Returns a page of the tenant's clients by name, in byte order.
    package func clients(
        tenant: TenantID,
        after: ClientID?,
        limit: Int
    ) async throws(StoreError) -> [Client] {
        try await database.fetch(
            Client.self,
            """
            SELECT \(Self.clientColumns) FROM client c
            WHERE c.tenant_id = \(tenant.uuid) AND c.identifier > \(after?.name ?? "")
            ORDER BY c.identifier LIMIT \(limit)
            """
        )
    }

    func first(_ rows: StoredRows) throws(StoreError) -> Client? {
        guard let row = rows.first else { return nil }
        return try Client(row)
    }

    /// The columns of a client `c`.
    static let clientColumns: Query = """
        c.id, c.identifier, c.kind, c.lifecycle, c.lifecycle_changed_at, c.created_at, c.removed_at,
        coalesce((SELECT p.last_sequence FROM session_progress p
            WHERE p.session_id = ANY (ARRAY[c.id])), 0) AS last_event_sequence
        """
}

extension Client: RowDecodable {
    init(_ row: StoredRow) throws(StoreError) {
        self.init(
            id: try row.client("identifier"),
            log: try row.session("id"),
            lastEventSequence: try row.decode("last_event_sequence"),
            kind: try row.word("kind"),
            lifecycle: try row.word("lifecycle"),
            lifecycleChangedAt: try row.decode("lifecycle_changed_at"),
            createdAt: try row.decode("created_at"),
            removedAt: try row.decodeIfPresent("removed_at")
        )
    }
}
