package import Foundation
import Postgres
package import TransferModel

extension KeyStore {
    /// Stores a new key of an existing tenant.
    ///
    /// - Returns: when it was created.
    package func createAPIKey(
        _ key: NewAPIKey,
        tenant: TenantID
    ) async throws(StoreError) -> Date {
        let tenant: Query = "SELECT id FROM tenant WHERE id = \(tenant.uuid)"
        let rows = try await database.run([
            Self.removeEnded(of: tenant),
            Self.insert(key, of: tenant),
        ])
        guard let row = rows[1].first else { throw Self.noRoom }
        return try row.decode("created_at")
    }

    /// Returns a page of the tenant's keys by identifier, in byte order, with those that ended
    /// within ``endedRetention``.
    package func apiKeys(
        tenant: TenantID,
        after: String?,
        limit: Int
    ) async throws(StoreError) -> [APIKeyRecord] {
        try await database.fetch(
            APIKeyRecord.self,
            """
            SELECT k.id, k.name, k.scopes, k.created_at, k.last_used_at, k.expires_at, k.revoked_at,
                k.requests_per_second_max
            FROM api_key k
            WHERE k.tenant_id = \(tenant.uuid) AND k.id > \(after ?? "")
            ORDER BY k.id LIMIT \(limit)
            """
        )
    }

    /// Revokes a key of a tenant, unless no other good key of the tenant has the scope `admin`.
    ///
    /// Two keys that revoke each other at the same time take turns, so one of them remains.
    package func revokeAPIKey(
        id: String,
        tenant: TenantID
    ) async throws(StoreError) -> RevocationResult {
        let rows = try await database.run([
            "SELECT 1 FROM tenant WHERE id = \(tenant.uuid) FOR NO KEY UPDATE",
            """
            WITH target AS MATERIALIZED (
                SELECT k.id, \(Self.isAdmin) AND NOT EXISTS (
                    SELECT 1 FROM api_key k
                    WHERE k.tenant_id = \(tenant.uuid) AND k.id <> \(id) AND \(Self.isAdmin)
                ) AS is_last
                FROM api_key k WHERE k.id = \(id) AND k.tenant_id = \(tenant.uuid)
            ),
            revoked AS (
                UPDATE api_key k SET revoked_at = coalesce(k.revoked_at, clock_timestamp())
                FROM target t WHERE k.id = ANY (ARRAY[t.id]) AND NOT t.is_last
            )
            SELECT is_last FROM target
            """,
        ])
        guard let row = rows[1].first else { return .unknown }
        return try row.decode("is_last") ? .lastAdministrator : .revoked
    }

    /// Whether a key `k` is good and has the scope `admin`.
    private static let isAdmin: Query = """
        (\(isGood) AND \(KeyScope.admin.rawValue) = ANY (k.scopes))
        """

    /// Revokes a key as an operator does, whatever is left of its tenant's.
    ///
    /// - Returns: false when there is no such key.
    package func revokeAPIKey(id: String) async throws(StoreError) -> Bool {
        let rows = try await database.run(
            """
            UPDATE api_key SET revoked_at = coalesce(revoked_at, clock_timestamp())
            WHERE id = \(id)
            """
        )
        return rows.affectedCount == 1
    }
}

extension APIKeyRecord: RowDecodable {
    init(_ row: StoredRow) throws(StoreError) {
        self.init(
            id: try row.decode("id"),
            name: try row.decode("name"),
            scopes: try row.scopes("scopes"),
            createdAt: try row.decode("created_at"),
            lastUsedAt: try row.decodeIfPresent("last_used_at"),
            expiresAt: try row.decodeIfPresent("expires_at"),
            revokedAt: try row.decodeIfPresent("revoked_at"),
            requestsPerSecondMax: try row.decodeIfPresent(
                "requests_per_second_max",
                as: Int32.self
            ).map(Int.init)
        )
    }
}
