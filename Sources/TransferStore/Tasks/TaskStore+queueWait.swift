import Foundation
import Postgres
package import TransferModel

extension TaskStore {
    /// The most running tasks that are counted.
    private static let runningMax = 10_000
    /// The age in seconds of the last heartbeat of a worker that counts as alive.
    private static let heartbeatMaxSeconds = 60

    /// Returns what stands between a queued task and its start; nil for a task that is not kept.
    package func queueWait(of task: TaskID) async throws(StoreError) -> QueueWait? {
        let rows = try await database.run(
            """
            SELECT h.name, least(h.connections, h.connections_max) AS connections,
                CASE WHEN h.is_closed THEN coalesce(
                    (SELECT d.reason FROM host_decision d WHERE d.host_key = t.host_key
                        ORDER BY d.id DESC LIMIT 1), '') END AS closure,
                s.max_connections_per_host, s.is_discretionary, a.of_host, a.of_session,
                z.id AS pause_id, z.tenant_id, z.host_key, z.host_name, z.is_by_tenant,
                z.gives_back, z.paused_at,
                n.tenant_limit,
                EXISTS (
                    SELECT 1 FROM worker w WHERE w.leases_shards AND w.heartbeat_at
                        > clock_timestamp() - \(Self.heartbeatMaxSeconds) * interval '1 second'
                ) AS has_worker
            FROM (
                SELECT session_id, tenant_id AS owner_id, host_key
                FROM task WHERE id = \(task.uuid) LIMIT 1
            ) t
            CROSS JOIN LATERAL (
                SELECT x.max_connections_per_host, x.is_discretionary FROM session x
                WHERE x.id = t.session_id LIMIT 1) s
            LEFT JOIN LATERAL (
                SELECT x.* FROM host x WHERE x.host_key = t.host_key LIMIT 1) h ON true
            LEFT JOIN LATERAL (
                SELECT x.* FROM pause x
                WHERE x.\(PauseStore.isAPause) AND (x.tenant_id IS NULL OR x.tenant_id = t.owner_id)
                    AND (x.host_key IS NULL OR x.host_key = t.host_key)
                ORDER BY x.id LIMIT 1) z ON true
            CROSS JOIN LATERAL (
                SELECT count(*) FILTER (WHERE x.host_key = t.host_key) AS of_host,
                    count(*) FILTER (WHERE x.host_key = t.host_key
                        AND x.session_id = t.session_id) AS of_session
                FROM (SELECT host_key, session_id FROM running_attempt
                    LIMIT \(Self.runningMax)) x) a
            LEFT JOIN LATERAL (
                SELECT CASE
                    WHEN n.stored_bytes_max
                        <= (\(TenantStore.storedBytes(of: "n.id"))) + coalesce(u.bytes, 0)
                        THEN \(QueueWait.TenantLimit.storedBytes.rawValue)
                    WHEN n.in_flight_bytes_max <= coalesce(u.bytes, 0)
                        THEN \(QueueWait.TenantLimit.inFlightBytes.rawValue)
                    WHEN n.running_tasks_max <= coalesce(u.tasks, 0)
                        THEN \(QueueWait.TenantLimit.runningTasks.rawValue)
                    END AS tenant_limit
                FROM tenant n
                LEFT JOIN (\(TenantStore.running)) u ON u.tenant_id = n.id
                WHERE n.id = t.owner_id AND num_nonnulls(
                    n.stored_bytes_max, n.in_flight_bytes_max, n.running_tasks_max) > 0
            ) n ON true
            """
        )
        guard let row = rows.first else { return nil }
        return QueueWait(
            host: try row.decodeIfPresent("name"),
            closure: try row.decodeIfPresent("closure"),
            connectionsOfHost: try row.decodeIfPresent("connections", as: Int16.self)
                .map(Int.init),
            runningAtHost: Int(try row.decode("of_host", as: Int64.self)),
            connectionsOfSession: try row.maxConnectionsPerHost(),
            runningOfSession: Int(try row.decode("of_session", as: Int64.self)),
            isDiscretionary: try row.decode("is_discretionary"),
            hasWorker: try row.decode("has_worker"),
            pause: try row.decodeIfPresent("pause_id", as: UUID.self) == nil ? nil : Pause(row),
            tenantLimit: try row.decodeIfPresent("tenant_limit", as: String.self)
                .flatMap(QueueWait.TenantLimit.init(rawValue:))
        )
    }
}
