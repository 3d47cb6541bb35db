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
    /// The time for which a host is remembered after its last decision.
    private static let hostAgeMax: Duration = .seconds(30 * 24 * 3600)

    /// Stores decisions about hosts, in order.
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
            """
            INSERT INTO host AS h (host_key, name, connections, is_closed, changed_at)
            SELECT host_key, name, connections, is_closed, clock_timestamp()
            FROM unnest(
                \(hosts.map(\.hostKey.rawValue)), \(hosts.map(\.name)),
                \(hosts.map { $0.connections.map { Int16(clamping: max(1, $0)) } }),
                \(hosts.map(\.isClosed))
            ) AS n (host_key, name, connections, is_closed)
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
            ORDER BY place
            """,
            """
            INSERT INTO host_tenant (tenant_id, host_key)
            SELECT tenant_id, host_key
            FROM unnest(\(concerned.map(\.tenant)), \(concerned.map(\.hostKey)))
                AS n (tenant_id, host_key)
            ORDER BY tenant_id, host_key
            ON CONFLICT DO NOTHING
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
    /// - Returns: the number of forgotten hosts, at most `limit`.
    package func pruneHosts(limit: Int = 1000) async throws(StoreError) -> Int {
        let rows = try await database.run(
            """
            WITH gone AS (
                DELETE FROM host WHERE host_key IN (
                    SELECT host_key FROM host
                    WHERE connections_max IS NULL AND changed_at < clock_timestamp()
                        - \(Self.hostAgeMax.milliseconds) * interval '1 ms'
                    LIMIT \(limit) FOR UPDATE SKIP LOCKED)
                RETURNING host_key
            ),
            decisions AS (DELETE FROM host_decision WHERE host_key IN (SELECT host_key FROM gone)),
            tenants AS (DELETE FROM host_tenant WHERE host_key IN (SELECT host_key FROM gone))
            SELECT host_key FROM gone
            """
        )
        return rows.count
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
