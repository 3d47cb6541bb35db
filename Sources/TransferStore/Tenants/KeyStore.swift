import Foundation
import Postgres
package import TransferModel

/// The API keys of tenants.
package struct KeyStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }

    /// The shortest time between two records of a key's use.
    package static let useInterval: Duration = .seconds(60)
    /// The time after its last use for which a key counts as used lately.
    package static let recentUse: Duration = .seconds(30 * 24 * 3600)
    /// The time for which a key is kept and listed after it was revoked or has expired.
    package static let endedRetention: Duration = .seconds(30 * 24 * 3600)
    /// The most ended keys that the creation of one removes.
    static let removalMax = 100
}

extension KeyStore {
    /// Returns the key with the public identifier `id`.
    package func apiKey(id: String) async throws(StoreError) -> StoredAPIKey? {
        try await database.fetchFirst(
            StoredAPIKey.self,
            """
            SELECT tenant_id, secret_sha256, scopes, revoked_at IS NOT NULL AS is_revoked,
                expires_at,
                ceil(extract(epoch FROM expires_at - clock_timestamp()) * 1000)::bigint
                    AS expires_in_ms,
                coalesce(\(Self.isUseDue), true) AS is_use_due,
                (SELECT n.requests_per_second_max FROM tenant n WHERE n.id = tenant_id)
                    AS requests_per_second_max,
                (SELECT n.is_for_tests FROM tenant n WHERE n.id = tenant_id) AS is_for_tests,
                requests_per_second_max AS own_requests_per_second_max
            FROM api_key WHERE id = \(id)
            """
        )
    }

    /// Whether the recorded use of an `api_key` is old; NULL when there is none.
    private static let isUseDue: Query = """
        last_used_at < clock_timestamp() - \(useInterval.milliseconds) * interval '1 ms'
        """

    /// Records that a key is in use, unless that was recorded within ``useInterval``.
    package func recordUse(ofAPIKey id: String) async throws(StoreError) {
        // A use that a power cut takes away is recorded again a minute later.
        _ = try await database.run(
            [.unsynced],
            """
            UPDATE api_key SET last_used_at = clock_timestamp()
            WHERE id = \(id) AND coalesce(\(Self.isUseDue), true)
            """
        )
    }

    /// Returns those of the keys `ids` that are neither revoked nor expired nor removed.
    package func goodAPIKeys(among ids: [String]) async throws(StoreError) -> Set<String> {
        let rows = try await database.run(
            "SELECT k.id FROM api_key k WHERE k.id = ANY (\(ids)) AND \(Self.isGood)"
        )
        return Set(try rows.map { row throws(StoreError) in try row.decode("id", as: String.self) })
    }

    /// Returns good keys that were used within ``recentUse``: the last used one of each tenant,
    /// those used last first, then the second of each, and so on.
    ///
    /// It reads the keys of all tenants: once, at the start of an instance. An index would have to
    /// be changed by each ``recordUse(ofAPIKey:)``.
    package func recentAPIKeys(limit: Int) async throws(StoreError) -> [RecentAPIKey] {
        try await database.fetch(
            RecentAPIKey.self,
            """
            SELECT r.id, r.tenant_id, r.secret_sha256
            FROM (
                SELECT k.id, k.tenant_id, k.secret_sha256, k.last_used_at, row_number() OVER (
                    PARTITION BY k.tenant_id ORDER BY k.last_used_at DESC) AS place
                FROM api_key k
                WHERE k.last_used_at
                    > clock_timestamp() - \(Self.recentUse.milliseconds) * interval '1 ms'
                    AND \(Self.isGood)
            ) r
            ORDER BY r.place, r.last_used_at DESC LIMIT \(limit)
            """
        )
    }

    /// Whether a key `k` is neither revoked nor expired.
    static let isGood: Query = """
        k.revoked_at IS NULL AND coalesce(k.expires_at > clock_timestamp(), true)
        """

    /// Stores a new key, and its tenant with the client `default` when there is none of that name.
    ///
    /// - Returns: the tenant that the key belongs to.
    package func createAPIKey(
        _ key: NewAPIKey,
        tenantName: String
    ) async throws(StoreError) -> TenantID {
        let tenant: Query = "SELECT id FROM tenant WHERE name = \(tenantName)"
        let rows = try await database.run([
            TenantStore.insert(named: tenantName),
            Self.removeEnded(of: tenant),
            Self.insert(key, of: tenant),
        ])
        guard let row = rows[2].first else { throw Self.noRoom }
        return try row.tenant("tenant_id")
    }

    static let noRoom = StoreError.quotaExceeded(Quota(.keys, maximum: Quota.keysMax))

    /// Returns the statement that stores a key of the tenant that `tenant` selects, if there is
    /// room.
    static func insert(_ key: NewAPIKey, of tenant: Query) -> Query {
        let room = Database.hasRoom(
            in: "SELECT 1 FROM api_key x WHERE x.tenant_id = t.id",
            maximum: Quota.keysMax
        )
        return """
            INSERT INTO api_key (
                id, tenant_id, secret_sha256, name, scopes, expires_at, requests_per_second_max)
            SELECT \(key.id), t.id, \(key.secretSHA256), \(key.name), \(key.scopes.names),
                \(key.expiresAt), \(key.requestsPerSecondMax.map { Int32(clamping: $0) })
            FROM (\(tenant)) t WHERE \(room)
            RETURNING tenant_id, created_at
            """
    }

    /// Returns the statement that removes keys of a tenant that ended long ago.
    static func removeEnded(of tenant: Query) -> Query {
        """
        DELETE FROM api_key WHERE id = ANY (ARRAY(
            SELECT k.id FROM api_key k
            WHERE k.tenant_id = (\(tenant)) AND least(k.revoked_at, k.expires_at)
                < clock_timestamp() - \(endedRetention.milliseconds) * interval '1 ms'
            ORDER BY k.id LIMIT \(removalMax)
        ))
        """
    }
}

extension StoredAPIKey: RowDecodable {
    init(_ row: StoredRow) throws(StoreError) {
        self.init(
            tenant: try row.tenant("tenant_id"),
            secretSHA256: try row.decode("secret_sha256"),
            scopes: try row.scopes("scopes"),
            isRevoked: try row.decode("is_revoked"),
            expiresIn: try row.decodeIfPresent("expires_in_ms", as: Int64.self)
                .map { .milliseconds($0) },
            expiresAt: try row.decodeIfPresent("expires_at"),
            isUseDue: try row.decode("is_use_due"),
            requestsPerSecondMax: try row.decodeIfPresent(
                "requests_per_second_max",
                as: Int32.self
            ).map(Int.init),
            ownRequestsPerSecondMax: try row.decodeIfPresent(
                "own_requests_per_second_max",
                as: Int32.self
            ).map(Int.init),
            isForTests: try row.decode("is_for_tests")
        )
    }
}

extension RecentAPIKey: RowDecodable {
    init(_ row: StoredRow) throws(StoreError) {
        self.init(
            id: try row.decode("id"),
            tenant: try row.tenant("tenant_id"),
            secretSHA256: try row.decode("secret_sha256")
        )
    }
}
