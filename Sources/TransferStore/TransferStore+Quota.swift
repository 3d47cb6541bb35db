import Postgres
package import TransferModel

/// What bounds a tenant, and the service as a whole.
///
/// All of it is judged by what the statement sees: requests at the same time may each take the last
/// place. That is a few too many, and nobody has to wait for anybody.
extension TransferStore {
    /// The tenant with what it is allowed and how its tasks stand.
    ///
    /// - Throws: ``StoreError/defect(_:)`` when there is none, for tenants are not removed.
    package func tenant(_ id: TenantID) async throws(StoreError) -> Tenant {
        let rows = try await run(
            """
            SELECT n.name, n.outstanding_tasks_max, n.running_tasks_max,
                n.total_bytes_per_second_max, n.created_at, c.*
            FROM tenant n \(Self.joinCounts(ofTenant: "n.id")) WHERE n.id = \(id.uuid)
            """
        )
        return try decoding { () throws(PostgresError) in
            guard let row = rows.first else { throw PostgresError(decoding: "no tenant") }
            return Tenant(
                name: try row.decode("name"),
                outstandingTasksMax: try row.decodeIfPresent("outstanding_tasks_max"),
                runningTasksMax: try row.decodeIfPresent("running_tasks_max", as: Int32.self)
                    .map(Int.init),
                totalBytesPerSecondMax: try row.decodeIfPresent("total_bytes_per_second_max"),
                taskCounts: try TaskCounts(row),
                createdAt: try row.decode("created_at")
            )
        }
    }

    /// Sets how many tasks of a tenant may be outstanding; nil for any number.
    ///
    /// - Returns: false when there is no tenant of that name.
    package func limitTenant(
        named name: String,
        outstandingTasksMax: Int64?
    ) async throws(StoreError) -> Bool {
        let rows = try await run(
            "UPDATE tenant SET outstanding_tasks_max = \(outstandingTasksMax) WHERE name = \(name)"
        )
        return rows.affectedCount == 1
    }

    /// Sets how many tasks of a tenant may be running, over all workers; nil for any number.
    ///
    /// - Returns: false when there is no tenant of that name.
    package func limitTenant(
        named name: String,
        runningTasksMax: Int?
    ) async throws(StoreError) -> Bool {
        let limit = runningTasksMax.map { Int32(clamping: $0) }
        let rows = try await run(
            "UPDATE tenant SET running_tasks_max = \(limit) WHERE name = \(name)"
        )
        return rows.affectedCount == 1
    }

    /// What keeps submissions out: `quota(tenant_id, maximum, is_exceeded)` of each tenant, and
    /// `queue(is_full)` for `count` tasks of them all.
    ///
    /// Expects `lot(tenant_id, count)`. Only of a tenant with a limit the counts are looked at. The
    /// queue's length is the server's own count of rows added and removed, about a second old, and
    /// costs no look at them.
    func submissionBounds(count: Int64) -> Query {
        """
        quota AS MATERIALIZED (
            SELECT n.id AS tenant_id, n.outstanding_tasks_max AS maximum,
                CASE WHEN n.outstanding_tasks_max IS NULL THEN false
                    ELSE l.count + coalesce((
                        SELECT sum(k.tasks) FROM (\(Self.selectCounts(ofTenant: "n.id"))) k
                        WHERE NOT \(Self.isTerminal("k.state"))
                    ), 0) > n.outstanding_tasks_max END AS is_exceeded
            FROM (SELECT tenant_id, sum(count) AS count FROM lot GROUP BY tenant_id) l
            CROSS JOIN LATERAL (
                SELECT id, outstanding_tasks_max FROM tenant WHERE id = l.tenant_id LIMIT 1
            ) n
        ),
        queue AS MATERIALIZED (
            SELECT pg_stat_get_live_tuples('ready'::regclass)
                + pg_stat_get_live_tuples('delayed'::regclass)
                + pg_stat_get_live_tuples('held'::regclass)
                + pg_stat_get_live_tuples('asked'::regclass) + \(count)
                > \(settings.queueMax) AS is_full
        )
        """
    }

    /// Whether a tenant may have one more of what `rows` selects; looks at `maximum` of them.
    static func hasRoom(in rows: Query, maximum: Int64) -> Query {
        "(SELECT count(*) FROM (\(rows) LIMIT \(maximum)) q) < \(maximum)"
    }
}
