import Foundation
import Postgres
package import TransferModel

/// The state of remote hosts, and their limits.
package struct HostStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension HostStore {
    /// The number of decisions that are kept of each host.
    package static let hostDecisionsMax = 100
    /// The maximum number of hosts that have a bound set by an operator.
    package static let boundHostsMax = 1000
    /// The number of hosts of a tenant beyond which no other is remembered: the next task finds out
    /// again what it bears.
    static let tenantHostsMax = 1000
    /// The number of hosts that are then left of the tenant, the newest.
    private static let tenantHostsKept = 500
    /// The time for which a host is remembered after its last decision.
    private static let hostAgeMax: Duration = .seconds(30 * 24 * 3600)

    /// Stores decisions about hosts, in order, but none about a host that is not remembered yet and
    /// that no tenant has room for.
    package func record(_ changes: [HostChange]) async throws(StoreError) {
        guard !changes.isEmpty else { return }
        // The last change of a host is its current state.
        var newest: [HostKey: HostChange] = [:]
        for change in changes { newest[change.hostKey] = change }
        let hosts = Array(newest.values)
        let concerned = Set(
            changes.flatMap { change in
                change.tenants.map { HostTenant(tenant: $0.uuid, hostKey: change.hostKey.rawValue) }
            }
        )
        let decisions = changes.map(\.decision)
        // A decision lost in a power cut is made again.
        _ = try await database.run([
            Database.TransactionSetting.unsynced.query,
            Self.insertTenants(concerned),
            """
            INSERT INTO host AS h (host_key, name, connections, is_closed, changed_at)
            SELECT host_key, name, connections, is_closed, clock_timestamp()
            FROM unnest(
                \(hosts.map(\.hostKey.rawValue)), \(hosts.map(\.name)),
                \(hosts.map { $0.connections.map { Int16(clamping: max(1, $0)) } }),
                \(hosts.map(\.isClosed))
            ) AS n (host_key, name, connections, is_closed)
            WHERE EXISTS (
                    SELECT 1 FROM host_tenant x WHERE x.host_key = ANY (ARRAY[n.host_key]))
                OR EXISTS (SELECT 1 FROM host x WHERE x.host_key = ANY (ARRAY[n.host_key]))
            ORDER BY host_key
            ON CONFLICT (host_key) DO UPDATE SET name = excluded.name,
                connections = excluded.connections, is_closed = excluded.is_closed,
                changed_at = excluded.changed_at
            """,
            """
            INSERT INTO host_decision (
                host_key, decided_at, connections_before, connections_after, reason)
            SELECT host_key, decided_at, before, after, reason
            FROM unnest(
                \(changes.map(\.hostKey.rawValue)), \(decisions.map(\.decidedAt)),
                \(decisions.map { Int16(clamping: $0.before) }),
                \(decisions.map { Int16(clamping: $0.after) }), \(decisions.map(\.reason))
            ) WITH ORDINALITY AS n (host_key, decided_at, before, after, reason, place)
            WHERE EXISTS (SELECT 1 FROM host x WHERE x.host_key = ANY (ARRAY[n.host_key]))
            ORDER BY place
            """,
            """
            DELETE FROM host_decision d
            USING unnest(\(hosts.map(\.hostKey.rawValue))) AS n (host_key)
            WHERE d.host_key = ANY (ARRAY[n.host_key]) AND d.id <= (
                SELECT o.id FROM host_decision o WHERE o.host_key = n.host_key
                ORDER BY o.id DESC OFFSET \(Self.hostDecisionsMax) LIMIT 1)
            """,
        ])
    }

    /// Returns the statement that stores which tenants have which hosts, of each tenant as many as
    /// it has room for.
    private static func insertTenants(_ concerned: Set<HostTenant>) -> Query {
        """
        WITH added AS MATERIALIZED (
            SELECT n.tenant_id, n.host_key,
                row_number() OVER (PARTITION BY n.tenant_id ORDER BY n.host_key) AS place
            FROM unnest(\(concerned.map(\.tenant)), \(concerned.map(\.hostKey)))
                AS n (tenant_id, host_key)
            WHERE NOT EXISTS (
                SELECT 1 FROM host_tenant x
                WHERE x.tenant_id = ANY (ARRAY[n.tenant_id])
                    AND x.host_key = ANY (ARRAY[n.host_key]))
                -- What a removed tenant's last transfers taught stays with the host alone.
                AND EXISTS (
                    SELECT 1 FROM tenant t
                    WHERE t.id = ANY (ARRAY[n.tenant_id]) AND t.removed_at IS NULL)
        ),
        room AS MATERIALIZED (
            SELECT a.tenant_id, \(Int64(tenantHostsMax)) - (
                SELECT count(*) FROM (
                    SELECT 1 FROM host_tenant x WHERE x.tenant_id = a.tenant_id
                    LIMIT \(Int64(tenantHostsMax))) q) AS count
            FROM (SELECT DISTINCT tenant_id FROM added) a
        )
        INSERT INTO host_tenant (tenant_id, host_key)
        SELECT a.tenant_id, a.host_key FROM added a JOIN room r ON r.tenant_id = a.tenant_id
        WHERE a.place <= r.count
        ORDER BY a.tenant_id, a.host_key
        ON CONFLICT DO NOTHING
        """
    }

    /// Sets the maximum number of connections to a host, over all workers; nil for the general
    /// limit.
    ///
    /// - Returns: false when too many hosts have a bound already.
    package func limitHost(
        _ hostKey: HostKey,
        name: String,
        maxConnections: Int?
    ) async throws(StoreError) -> Bool {
        let limit = maxConnections.map { Int16(clamping: $0) }
        let rows = try await database.run(
            """
            INSERT INTO host (host_key, name, connections_max)
            SELECT \(hostKey.rawValue), \(name), \(limit)
            WHERE \(Database.hasRoom(
                in: "SELECT 1 FROM host WHERE connections_max IS NOT NULL AND host_key <> \(hostKey.rawValue)",
                maximum: Int64(Self.boundHostsMax)
            ))
            ON CONFLICT (host_key) DO UPDATE
                SET connections_max = excluded.connections_max, changed_at = clock_timestamp()
            """
        )
        return rows.affectedCount == 1
    }

    /// Returns the hosts at which the tenant has or had tasks, by name.
    ///
    /// A host with an operator's bound is included only after a decision about it.
    package func hosts(
        tenant: TenantID,
        after name: String? = nil,
        limit: Int
    ) async throws(StoreError) -> [RemoteHost] {
        let rows = try await database.run(
            """
            SELECT h.name, h.connections_max, h.connections, h.is_closed, h.changed_at
            FROM host_tenant x JOIN host h ON h.host_key = ANY (ARRAY[x.host_key])
            WHERE x.tenant_id = \(tenant.uuid) AND h.name COLLATE "C" > \(name ?? "")
            ORDER BY h.name COLLATE "C" LIMIT \(limit)
            """
        )
        return try rows.map { row throws(StoreError) in try RemoteHost(row, decisions: []) }
    }

    /// Returns one of ``hosts(tenant:after:limit:)``, with the decisions about it.
    package func host(_ hostKey: HostKey, tenant: TenantID) async throws(StoreError) -> RemoteHost?
    {
        let rows = try await database.run([
            """
            SELECT h.name, h.connections_max, h.connections, h.is_closed, h.changed_at
            FROM host h JOIN host_tenant x ON x.host_key = h.host_key
            WHERE h.host_key = \(hostKey.rawValue) AND x.tenant_id = \(tenant.uuid)
            """,
            """
            SELECT decided_at, connections_before, connections_after, reason
            FROM host_decision WHERE host_key = \(hostKey.rawValue)
            ORDER BY id DESC LIMIT \(Self.hostDecisionsMax)
            """,
        ])
        guard let row = rows[0].first else { return nil }
        return try RemoteHost(
            row,
            decisions: rows[1].map { row throws(StoreError) in
                RemoteHost.Decision(
                    decidedAt: try row.decode("decided_at"),
                    before: Int(try row.decode("connections_before", as: Int16.self)),
                    after: Int(try row.decode("connections_after", as: Int16.self)),
                    reason: try row.decode("reason")
                )
            }
        )
    }

    /// Forgets hosts without a decision for a month and without an operator's bound, including
    /// hosts that still get fewer connections: the next task finds out again what they bear.
    ///
    /// Of a tenant with many hosts it forgets all but the newest.
    ///
    /// - Returns: the number of rows that were removed for either reason, of each at most `limit`.
    package func pruneHosts(limit: Int = 1000) async throws(StoreError) -> Int {
        let rows = try await database.run([
            Self.forgetIdle(limit: limit), Self.forgetSurplus(limit: limit),
        ])
        return rows.reduce(0) { $0 + $1.count }
    }

    private static func forgetIdle(limit: Int) -> Query {
        """
        WITH gone AS (
            DELETE FROM host WHERE host_key = ANY (ARRAY(
                SELECT host_key FROM host
                WHERE connections_max IS NULL AND changed_at < statement_timestamp()
                    - \(hostAgeMax.milliseconds) * interval '1 ms'
                ORDER BY changed_at LIMIT \(limit) FOR UPDATE SKIP LOCKED))
            RETURNING host_key
        ),
        decisions AS (
            DELETE FROM host_decision d USING gone g WHERE d.host_key = ANY (ARRAY[g.host_key])
        ),
        tenants AS (
            DELETE FROM host_tenant x USING gone g WHERE x.host_key = ANY (ARRAY[g.host_key])
        )
        SELECT host_key FROM gone
        """
    }

    /// Returns the statement that takes hosts from tenants with many, and forgets those that are
    /// then nobody's.
    private static func forgetSurplus(limit: Int) -> Query {
        """
        -- 1. Each tenant, by one look into the index.
        WITH RECURSIVE owner AS (
            (SELECT tenant_id FROM host_tenant ORDER BY tenant_id LIMIT 1)
            UNION ALL
            SELECT (
                SELECT x.tenant_id FROM host_tenant x WHERE x.tenant_id > o.tenant_id
                ORDER BY x.tenant_id LIMIT 1)
            FROM owner o WHERE o.tenant_id IS NOT NULL
        ),
        -- 2. The oldest hosts of those with many, and what is left of forgotten ones.
        surplus AS MATERIALIZED (
            SELECT o.tenant_id, s.host_key, s.changed_at
            FROM owner o CROSS JOIN LATERAL (
                SELECT x.host_key, h.changed_at
                FROM host_tenant x LEFT JOIN host h ON h.host_key = ANY (ARRAY[x.host_key])
                WHERE x.tenant_id = o.tenant_id AND EXISTS (
                    SELECT 1 FROM host_tenant y WHERE y.tenant_id = o.tenant_id
                    OFFSET \(Int64(tenantHostsKept)))
                ORDER BY h.changed_at DESC NULLS LAST OFFSET \(Int64(tenantHostsKept))
            ) s
            LIMIT \(limit)
        ),
        gone AS (
            DELETE FROM host_tenant x USING surplus s
            WHERE x.tenant_id = s.tenant_id AND x.host_key = ANY (ARRAY[s.host_key])
            RETURNING x.host_key
        ),
        -- 3. Not a host that is changed at this moment.
        forgotten AS (
            DELETE FROM host h USING surplus s
            WHERE h.host_key = ANY (ARRAY[s.host_key]) AND h.changed_at = s.changed_at
                AND h.connections_max IS NULL AND NOT EXISTS (
                    SELECT 1 FROM host_tenant x
                    WHERE x.host_key = ANY (ARRAY[s.host_key]) AND NOT EXISTS (
                        SELECT 1 FROM surplus y
                        WHERE y.tenant_id = x.tenant_id AND y.host_key = x.host_key))
            RETURNING h.host_key
        ),
        decisions AS (
            DELETE FROM host_decision d USING forgotten f
            WHERE d.host_key = ANY (ARRAY[f.host_key])
        )
        SELECT host_key FROM gone
        """
    }
}

private struct HostTenant: Hashable {
    let tenant: UUID
    let hostKey: Int64
}

extension RemoteHost {
    fileprivate init(_ row: StoredRow, decisions: [Decision]) throws(StoreError) {
        self.init(
            name: try row.decode("name"),
            maxConnections: try row.decodeIfPresent("connections_max", as: Int16.self)
                .map(Int.init),
            connections: try row.decodeIfPresent("connections", as: Int16.self).map(Int.init),
            isClosed: try row.decode("is_closed"),
            changedAt: try row.decode("changed_at"),
            decisions: decisions
        )
    }
}
