import Foundation
import Postgres
package import TransferModel

extension TenantStore {
    /// Returns the key with the public identifier `id`.
    package func apiKey(id: String) async throws(StoreError) -> StoredAPIKey? {
        let rows = try await database.run(
            """
            SELECT tenant_id, secret_sha256, revoked_at IS NOT NULL AS is_revoked
            FROM api_key WHERE id = \(id)
            """
        )
        guard let row = rows.first else { return nil }
        return StoredAPIKey(
            tenant: try row.tenant("tenant_id"),
            secretSHA256: try row.decode("secret_sha256"),
            isRevoked: try row.decode("is_revoked")
        )
    }

    /// Stores a new key, and its tenant with the client `default` when there is none of that name.
    ///
    /// - Returns: the tenant that the key belongs to.
    package func createAPIKey(
        id: String,
        tenantName: String,
        secretSHA256: [UInt8],
        name: String
    ) async throws(StoreError) -> TenantID {
        let rows = try await database.run([
            """
            WITH added AS (
                INSERT INTO tenant (id, name) VALUES (\(UUID.version7()), \(tenantName))
                ON CONFLICT (name) DO NOTHING
                RETURNING id
            )
            INSERT INTO client (tenant_id, identifier, kind)
            SELECT id, \(ClientID.default.name), 'app' FROM added
            """,
            """
            INSERT INTO api_key (id, tenant_id, secret_sha256, name)
            SELECT \(id), t.id, \(secretSHA256), \(name)
            FROM tenant t WHERE t.name = \(tenantName)
            RETURNING tenant_id
            """,
        ])
        guard let row = rows[1].first else { throw StoreError(decoding: "no tenant") }
        return try row.tenant("tenant_id")
    }
}
