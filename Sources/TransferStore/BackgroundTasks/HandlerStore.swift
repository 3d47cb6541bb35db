import Foundation
import Postgres
package import TransferModel

/// What clients have registered to be launched for.
package struct HandlerStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension HandlerStore {
    /// Registers a handler of a client, once for each identifier.
    package func registerHandler(
        _ identifier: BackgroundTaskIdentifier,
        kind: BackgroundTaskKind,
        hasExpirationHandler: Bool,
        of client: ClientID,
        tenant: TenantID
    ) async throws(StoreError) -> RegisterHandlerResult {
        let isOwner = ClientStore.isNamed(client, tenant)
        let room = Database.hasRoom(
            in: "SELECT 1 FROM background_task_handler x WHERE x.client_id = c.id",
            maximum: Quota.handlersMax
        )
        let rows = try await database.run([
            ClientStore.lock(client, of: tenant),
            """
            INSERT INTO background_task_handler (
                client_id, identifier, kind, has_expiration_handler)
            SELECT c.id, \(identifier.name), \(kind.rawValue), \(hasExpirationHandler)
            FROM client c
            WHERE \(isOwner) AND \(room) AND \(Self.permits(identifier, tenant: tenant))
            ON CONFLICT (client_id, identifier) DO NOTHING
            """,
            """
            SELECT \(Self.permits(identifier, tenant: tenant)) AS is_permitted
            FROM client c WHERE \(isOwner)
            """,
            Self.select(where: "\(isOwner) AND h.identifier = \(identifier.name)"),
        ])
        guard let state = rows[2].first else { return .unknownClient }
        guard try state.decode("is_permitted") else { return .notPermitted }
        guard let row = rows[3].first else {
            throw .quotaExceeded(Quota(.handlers, maximum: Quota.handlersMax))
        }
        guard rows[1].affectedCount == 1 else { return .registeredBefore }
        return .registered(try BackgroundTaskHandler(row))
    }

    /// Whether the tenant permits an identifier; a permitted term is an identifier, or a beginning
    /// and `*`, and none of their bytes means anything to `LIKE` but `_`.
    static func permits(_ identifier: BackgroundTaskIdentifier, tenant: TenantID) -> Query {
        """
        EXISTS (
            SELECT 1 FROM tenant n
            CROSS JOIN LATERAL unnest(n.permitted_background_tasks) AS x (term)
            WHERE n.id = \(tenant.uuid) AND (x.term COLLATE "C" = \(identifier.name)
                OR right(x.term, 1) = '*'
                AND starts_with(\(identifier.name), left(x.term, -1))))
        """
    }

    /// Returns a handler.
    package func handler(
        _ identifier: BackgroundTaskIdentifier,
        of client: ClientID,
        tenant: TenantID
    ) async throws(StoreError) -> BackgroundTaskHandler? {
        let rows = try await database.run(
            Self.select(
                where: """
                    \(ClientStore.isNamed(client, tenant)) AND h.identifier = \(identifier.name)
                    """
            )
        )
        guard let row = rows.first else { return nil }
        return try BackgroundTaskHandler(row)
    }

    /// Returns all handlers of a client by identifier, in byte order.
    package func handlers(
        of client: ClientID,
        tenant: TenantID
    ) async throws(StoreError) -> [BackgroundTaskHandler] {
        try await database.fetch(
            BackgroundTaskHandler.self,
            """
            \(Self.select(where: ClientStore.isNamed(client, tenant)))
            ORDER BY h.identifier LIMIT \(Quota.handlersMax)
            """
        )
    }

    /// Removes a handler with its pending request; a run continues.
    ///
    /// - Returns: false when there is none.
    package func removeHandler(
        _ identifier: BackgroundTaskIdentifier,
        of client: ClientID,
        tenant: TenantID
    ) async throws(StoreError) -> Bool {
        let owner: Query = """
            (SELECT c.id FROM client c WHERE \(ClientStore.isNamed(client, tenant)))
            """
        let rows = try await database.run([
            ClientStore.lock(client, of: tenant),
            """
            DELETE FROM background_task_handler
            WHERE client_id = \(owner) AND identifier = \(identifier.name)
            """,
            BackgroundTaskRequestStore.cancel(
                where: "q.client_id = \(owner) AND q.identifier = \(identifier.name)"
            ),
        ])
        return rows[1].affectedCount == 1
    }

    private static func select(where condition: Query) -> Query {
        """
        SELECT h.identifier, h.kind, h.has_expiration_handler, h.registered_at
        FROM client c JOIN background_task_handler h ON h.client_id = c.id
        WHERE \(condition)
        """
    }
}

extension BackgroundTaskHandler: RowDecodable {
    init(_ row: StoredRow) throws(StoreError) {
        self.init(
            identifier: BackgroundTaskIdentifier(stored: try row.decode("identifier")),
            kind: try row.word("kind"),
            hasExpirationHandler: try row.decode("has_expiration_handler"),
            registeredAt: try row.decode("registered_at")
        )
    }
}
