import Foundation
import Postgres
package import TransferModel

extension QueueStore {
    /// The maximum number of flows that one look at the queue finds.
    package static let flowsMax = 512

    /// Returns the flows in which tasks wait, in the order of their hosts, after the flow `after`;
    /// `hostKeys` are in order too.
    ///
    /// The query skips through the index from one flow to the next, so that the cost grows with the
    /// flows and not with the tasks in them. The result includes flows of sessions that have ended;
    /// they count towards its limit, and the caller must not claim from them.
    package func waitingFlows(
        in hostKeys: [ClosedRange<Int64>],
        after: Flow? = nil,
        limit: Int = flowsMax
    ) async throws(StoreError) -> [WaitingFlow] {
        let rest = hostKeys.filter { $0.upperBound >= after?.hostKey.rawValue ?? .min }
        let starts = rest.map { max($0.lowerBound, after?.hostKey.rawValue ?? .min) }
        let sessions = starts.map { start in
            after.flatMap { $0.hostKey.rawValue == start ? $0.session.uuid : nil } ?? .zero
        }
        return try await database.fetch(
            WaitingFlow.self,
            """
            SELECT w.host_key, w.session_id, w.priority_rank, w.last_task_id AS task_id, s.tenant_id, s.max_connections_per_host,
                s.is_discretionary, s.running_tasks_max, s.has_byte_limit,
                coalesce(\(CancellationStore.mayBegin(session: "w.session_id")), false)
                    AND NOT \(PauseStore.isPaused(tenant: "s.tenant_id", host: "w.host_key"))
                    AS may_begin
            FROM unnest(\(starts), \(sessions), \(rest.map(\.upperBound)))
                AS g (host_key, session_id, last)
            CROSS JOIN LATERAL (
                WITH RECURSIVE walk (host_key, session_id, priority_rank, last_task_id) AS (
                    (SELECT r.host_key, r.session_id, r.priority_rank, r.last_task_id FROM ready_run r
                    WHERE (r.host_key, r.session_id) > (g.host_key, g.session_id) AND r.host_key <= g.last
                    ORDER BY r.host_key, r.session_id, r.priority_rank, r.last_task_id LIMIT 1)
                    UNION ALL
                    SELECT n.host_key, n.session_id, n.priority_rank, n.last_task_id
                    FROM walk w CROSS JOIN LATERAL (
                        SELECT r.host_key, r.session_id, r.priority_rank, r.last_task_id FROM ready_run r
                        WHERE (r.host_key, r.session_id) > (w.host_key, w.session_id)
                            AND r.host_key <= g.last
                        ORDER BY r.host_key, r.session_id, r.priority_rank, r.last_task_id LIMIT 1
                    ) n
                )
                SELECT host_key, session_id, priority_rank, last_task_id FROM walk LIMIT \(limit)
            ) w
            CROSS JOIN LATERAL (
                SELECT x.tenant_id, x.max_connections_per_host, x.is_discretionary,
                    n.running_tasks_max,
                    num_nonnulls(n.stored_bytes_max, n.in_flight_bytes_max) > 0 AS has_byte_limit
                FROM session x JOIN tenant n ON n.id = ANY (ARRAY[x.tenant_id])
                WHERE x.id = w.session_id LIMIT 1
            ) s
            LIMIT \(limit)
            """
        )
    }
}

extension WaitingFlow: RowDecodable {
    init(_ row: StoredRow) throws(StoreError) {
        self.init(
            flow: Flow(
                hostKey: try row.hostKey("host_key"),
                session: try row.session("session_id")
            ),
            tenant: try row.tenant("tenant_id"),
            position: FlowPosition(
                priority: TaskPriority(rank: try row.decode("priority_rank")),
                task: try row.task("task_id")
            ),
            maxConnectionsPerHost: try row.maxConnectionsPerHost(),
            tenantTasksMax: try row.decodeIfPresent("running_tasks_max", as: Int32.self)
                .map(Int.init),
            hasTenantByteLimit: try row.decode("has_byte_limit"),
            isDiscretionary: try row.decode("is_discretionary"),
            mayBegin: try row.decode("may_begin")
        )
    }
}
