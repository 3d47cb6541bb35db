import Foundation
import Postgres
package import TransferModel

/// The pauses, which hold for all instances and until they are ended.
package struct PauseStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension PauseStore {
    /// Pauses a scope from now on; one that is paused already only takes over `givesBack`.
    ///
    /// An operator's pauses have no maximum: it has to be able to stop everything at any time.
    ///
    /// - Returns: false when the tenant has paused as many other scopes as it may.
    package func pause(_ pause: Pause) async throws(StoreError) -> Bool {
        let scope = pause.scope
        let room = Database.hasRoom(
            in: """
                SELECT 1 FROM pause
                WHERE \(Self.isAPause) AND tenant_id = \(scope.tenant?.uuid) AND is_by_tenant
                """,
            maximum: Quota.pausesMax
        )
        let rows = try await database.run(
            """
            INSERT INTO pause AS p (id, tenant_id, host_key, host_name, is_by_tenant, gives_back)
            SELECT \(UUID.version7()), \(scope.tenant?.uuid), \(scope.host?.rawValue),
                \(pause.hostName), \(pause.isByTenant), \(pause.givesBack)
            WHERE NOT \(pause.isByTenant) OR \(room) OR EXISTS (
                SELECT 1 FROM pause WHERE \(Self.isPause(of: scope, isByTenant: true)))
            ON CONFLICT (
                coalesce(tenant_id::text, ''), coalesce(host_key::text, ''), is_by_tenant)
            DO UPDATE SET gives_back = excluded.gives_back
            """
        )
        return rows.affectedCount == 1
    }

    /// Ends a pause of a scope; pauses of wider scopes, and those of the other author, remain.
    ///
    /// - Returns: false when it is not paused.
    package func endPause(
        _ scope: Pause.Scope,
        isByTenant: Bool
    ) async throws(StoreError) -> Bool {
        let rows = try await database.run(
            """
            DELETE FROM pause WHERE \(Self.isPause(of: scope, isByTenant: isByTenant))
            """
        )
        return rows.affectedCount > 0
    }

    /// Returns the pauses, from the oldest; with a `tenant`, those that hold for it.
    package func pauses(of tenant: TenantID? = nil) async throws(StoreError) -> [Pause] {
        try await database.fetch(Pause.self, Self.select(of: tenant))
    }

    static func select(of tenant: TenantID? = nil) -> Query {
        """
        SELECT z.tenant_id, z.host_key, z.host_name, z.is_by_tenant, z.gives_back, z.paused_at
        FROM pause z
        WHERE \(isAPause) AND (\(tenant == nil) OR z.tenant_id IS NULL
            OR z.tenant_id = \(tenant?.uuid))
        ORDER BY z.id
        """
    }
}

/// Parts of statements that heed pauses.
extension PauseStore {
    /// Whether a row is a pause, in words by which the table is read in the order of its key:
    /// without an index a plan would have a cost beside which no other counts.
    static let isAPause: Query = "id > \(UUID.zero)"

    /// Whether a row is the pause of a scope by one of its authors.
    private static func isPause(of scope: Pause.Scope, isByTenant: Bool) -> Query {
        """
        coalesce(tenant_id::text, '') = coalesce(\(scope.tenant?.uuid)::text, '')
            AND coalesce(host_key::text, '') = coalesce(\(scope.host?.rawValue)::text, '')
            AND is_by_tenant = \(isByTenant)
        """
    }

    /// Whether tasks of a tenant do not begin at a host; `tenant` is only looked up if anything is
    /// paused at all.
    static func isPaused(tenant: Query, host: Query) -> Query {
        """
        (CASE WHEN (SELECT EXISTS (SELECT 1 FROM pause WHERE \(isAPause))) THEN EXISTS (
            SELECT 1 FROM pause z
            -- By the index of scopes: there may be any number of pauses.
            WHERE coalesce(z.tenant_id::text, '') = ANY (ARRAY['', (\(tenant))::text])
                AND coalesce(z.host_key::text, '') = ANY (ARRAY['', (\(host))::text])
        ) ELSE false END)
        """
    }
}

extension Pause: RowDecodable {
    init(_ row: StoredRow) throws(StoreError) {
        self.init(
            scope: Scope(
                tenant: try row.decodeIfPresent("tenant_id", as: UUID.self).map { TenantID($0) },
                host: try row.decodeIfPresent("host_key").map(HostKey.init(rawValue:))
            ),
            hostName: try row.decodeIfPresent("host_name"),
            isByTenant: try row.decode("is_by_tenant"),
            givesBack: try row.decode("gives_back"),
            pausedAt: try row.decode("paused_at")
        )
    }
}
