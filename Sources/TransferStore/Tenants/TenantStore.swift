import Foundation
import Postgres
package import TransferModel

/// Tenants, their limits and certificate authorities.
package struct TenantStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension TenantStore {
    /// Returns the tenant with its limits and the state of its tasks.
    ///
    /// - Throws: ``StoreError/defect(_:)`` when there is none, because tenants are not removed.
    package func tenant(_ id: TenantID) async throws(StoreError) -> Tenant {
        let rows = try await database.run(
            """
            SELECT n.name, n.outstanding_tasks_max, n.running_tasks_max,
                n.requests_per_second_max, n.total_bytes_per_second_max, n.stored_bytes_max,
                n.in_flight_bytes_max, n.is_for_tests, n.created_at, c.*
            FROM tenant n \(CountStore.joinCountsOfTenant) WHERE n.id = \(id.uuid)
            """
        )
        guard let row = rows.first else { throw StoreError(decoding: "no tenant") }
        return try Tenant(row)
    }

    /// Returns the tenant with that name.
    package func tenant(named name: String) async throws(StoreError) -> TenantID? {
        let rows = try await database.run("SELECT id FROM tenant WHERE name = \(name)")
        return try rows.first?.tenant("id")
    }

    /// Returns a page of all tenants by name, with their limits and the state of their tasks.
    package func tenants(
        after name: String?,
        limit: Int
    ) async throws(StoreError) -> [(id: TenantID, tenant: Tenant)] {
        let rows = try await database.run(
            """
            SELECT n.*, c.* FROM (
                SELECT t.id, t.name, t.outstanding_tasks_max, t.running_tasks_max,
                    t.requests_per_second_max, t.total_bytes_per_second_max, t.stored_bytes_max,
                    t.in_flight_bytes_max, t.is_for_tests, t.created_at
                FROM tenant t WHERE t.name > \(name ?? "") ORDER BY t.name LIMIT \(limit)
            ) n \(CountStore.joinCountsOfTenant)
            ORDER BY n.name
            """
        )
        return try rows.map { row throws(StoreError) in
            (id: try row.tenant("id"), tenant: try Tenant(row))
        }
    }

    /// Makes a tenant with the client `default`; one for tests may use the hooks for tests.
    ///
    /// - Returns: false when there is one of that name already.
    package func createTenant(
        named name: String,
        isForTests: Bool
    ) async throws(StoreError) -> Bool {
        try await database.run(Self.insert(named: name, isForTests: isForTests))
            .affectedCount == 1
    }

    /// Returns the statement that stores a tenant with its first client, if there is none of that
    /// name.
    static func insert(named name: String, isForTests: Bool = false) -> Query {
        """
        WITH added AS (
            INSERT INTO tenant (id, name, is_for_tests)
            VALUES (\(UUID.version7()), \(name), \(isForTests))
            ON CONFLICT (name) DO NOTHING
            RETURNING id
        )
        INSERT INTO client (tenant_id, identifier, kind)
        SELECT id, \(ClientID.default.name), 'app' FROM added
        """
    }

    /// Changes limits of a tenant, all at once.
    ///
    /// - Returns: false when there is no tenant of that name.
    package func limitTenant(
        named name: String,
        changes: TenantLimitChanges
    ) async throws(StoreError) -> Bool {
        let runningTasksMax = (changes.runningTasksMax ?? nil).map { Int32(clamping: $0) }
        let requestsPerSecondMax = (changes.requestsPerSecondMax ?? nil)
            .map { Int32(clamping: $0) }
        let rows = try await database.run([
            """
            UPDATE tenant SET
                total_bytes_per_second_max = CASE WHEN \(changes.totalBytesPerSecondMax != nil)
                    THEN \(changes.totalBytesPerSecondMax ?? nil)
                    ELSE total_bytes_per_second_max END,
                outstanding_tasks_max = CASE WHEN \(changes.outstandingTasksMax != nil)
                    THEN \(changes.outstandingTasksMax ?? nil) ELSE outstanding_tasks_max END,
                running_tasks_max = CASE WHEN \(changes.runningTasksMax != nil)
                    THEN \(runningTasksMax) ELSE running_tasks_max END,
                requests_per_second_max = CASE WHEN \(changes.requestsPerSecondMax != nil)
                    THEN \(requestsPerSecondMax) ELSE requests_per_second_max END,
                stored_bytes_max = CASE WHEN \(changes.storedBytesMax != nil)
                    THEN \(changes.storedBytesMax ?? nil) ELSE stored_bytes_max END,
                in_flight_bytes_max = CASE WHEN \(changes.inFlightBytesMax != nil)
                    THEN \(changes.inFlightBytesMax ?? nil) ELSE in_flight_bytes_max END
            WHERE name = \(name)
            """,
            WorkerStore.countLimitChange,
        ])
        return rows[0].affectedCount == 1
    }
}

extension Tenant: RowDecodable {
    init(_ row: StoredRow) throws(StoreError) {
        self.init(
            name: try row.decode("name"),
            outstandingTasksMax: try row.decodeIfPresent("outstanding_tasks_max"),
            runningTasksMax: try row.decodeIfPresent("running_tasks_max", as: Int32.self)
                .map(Int.init),
            requestsPerSecondMax: try row.decodeIfPresent(
                "requests_per_second_max",
                as: Int32.self
            ).map(Int.init),
            totalBytesPerSecondMax: try row.decodeIfPresent("total_bytes_per_second_max"),
            storedBytesMax: try row.decodeIfPresent("stored_bytes_max"),
            inFlightBytesMax: try row.decodeIfPresent("in_flight_bytes_max"),
            isForTests: try row.decode("is_for_tests"),
            taskCounts: try TaskCounts(row),
            createdAt: try row.decode("created_at")
        )
    }
}

/// The bytes that tenants keep, and those that are under way.
extension TenantStore {
    /// Returns the number of bytes that a tenant keeps and has under way.
    package func storage(of tenant: TenantID) async throws(StoreError) -> TenantStorage {
        let rows = try await database.run(
            """
            SELECT (\(Self.storedBytes(of: "n.id")))::bigint AS stored_bytes, coalesce((
                    SELECT u.bytes FROM (\(Self.running)) u WHERE u.tenant_id = n.id
                ), 0)::bigint AS in_flight_bytes
            FROM tenant n WHERE n.id = \(tenant.uuid)
            """
        )
        guard let row = rows.first else { throw StoreError(decoding: "no tenant") }
        return TenantStorage(
            storedBytes: try row.decode("stored_bytes"),
            inFlightBytes: try row.decode("in_flight_bytes")
        )
    }

    /// The number of bytes that a running task counts for while nobody knows how many it has.
    static let unknownBytes: Int64 = 1 << 20
    /// The number of kept parts of a tenant that are counted, the largest first.
    ///
    /// Ended tasks may have left any number of them, and claims wait for the sum.
    package static let keptPartsMax = 1000
    /// The largest sum of bytes; those of numbers that others choose need not fit into a `bigint`.
    private static let bytesMax: Query = "\(Int64.max)::numeric"

    /// Selects the number of bytes that a tenant keeps, a `numeric` that fits into a `bigint`: the
    /// results of completed tasks, as the exact counts have them, bodies for uploads, and what
    /// ended downloads have left to be resumed.
    static func storedBytes(of tenant: Query) -> Query {
        """
        SELECT least(\(bytesMax), coalesce((
            SELECT sum(k.bytes_received) FROM (\(CountStore.selectCounts(ofTenant: tenant))) k
            WHERE k.state = 'completed'
        ), 0) + coalesce((
            SELECT sum(b.bytes) FROM staged_body b WHERE b.tenant_id = \(tenant)
        ), 0) + coalesce((
            SELECT sum(p.bytes_durable) FROM (
                SELECT r.bytes_durable FROM resume_data r WHERE r.tenant_id = \(tenant)
                ORDER BY r.tenant_id, r.bytes_durable DESC LIMIT \(keptPartsMax)
            ) p
        ), 0))
        """
    }

    /// Selects `(tenant_id, tasks, bytes)` of the running tasks of each tenant; the bytes, a
    /// `numeric` that fits into a `bigint`, are with those of files that only lack their name.
    ///
    /// Servers announce them. A sum that overflowed would fail for all tenants at once.
    ///
    /// Counted from the attempts, which are fewer than the sessions a tenant may have, and once for
    /// all tenants; each session is looked up once.
    static let running: Query = """
        SELECT (SELECT s.tenant_id FROM session s WHERE s.id = a.session_id) AS tenant_id,
            sum(a.tasks)::bigint AS tasks, least(\(bytesMax), sum(a.bytes)) AS bytes
        FROM (
            SELECT x.session_id, sum(x.tasks) AS tasks, sum(x.bytes) AS bytes
            FROM (
                SELECT session_id, 1 AS tasks, CASE
                    WHEN bytes_to_send IS NOT NULL
                        THEN bytes_to_send + least(
                            coalesce(bytes_expected, bytes_received),
                            \(Int64.max) - bytes_to_send)
                    ELSE coalesce(bytes_expected, greatest(bytes_received, \(unknownBytes)))
                    END AS bytes
                FROM running_attempt
                UNION ALL SELECT session_id, 0, bytes_received FROM pending_rename
            ) x GROUP BY x.session_id
        ) a GROUP BY 1
        """
}
