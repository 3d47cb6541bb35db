import Foundation
import Postgres
package import TransferModel

/// The bytes that clients bring for uploads, as far as a tenant may keep them.
package struct StagedBodyStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension StagedBodyStore {
    /// The number of bodies examined by one call of ``bodiesToForget(after:)``.
    private static let examinedMax = 1000

    /// Sets the number of bytes that the body of an upload has or may come to have.
    ///
    /// The tenant's row lock orders this after claims and other reservations of a tenant with a
    /// limit, so that the limit holds over all instances.
    ///
    /// - Parameters:
    ///   - bytes: the least number.
    ///   - most: the number if the tenant may keep so many, else all that it may; nil for
    ///     `bytes`.
    ///   - task: the upload.
    ///   - tenant: the one that keeps them.
    /// - Returns: the number.
    /// - Throws: ``StoreError/quotaExceeded(_:)`` if the tenant may not keep the least.
    @discardableResult
    package func reserve(
        _ bytes: Int64,
        upTo most: Int64? = nil,
        for task: TaskID,
        of tenant: TenantID
    ) async throws(StoreError) -> Int64 {
        let rows = try await database.run([
            """
            SELECT FROM tenant n WHERE n.id = \(tenant.uuid) AND n.stored_bytes_max IS NOT NULL
            FOR NO KEY UPDATE
            """,
            """
            WITH room AS MATERIALIZED (
                SELECT n.stored_bytes_max, least(
                    \(most ?? bytes),
                    CASE WHEN n.stored_bytes_max IS NOT NULL THEN n.stored_bytes_max
                        - (\(TenantStore.storedBytes(of: "n.id"))) + coalesce((
                            SELECT b.bytes FROM staged_body b WHERE b.task_id = \(task.uuid)), 0)
                        END
                )::bigint AS bytes
                FROM tenant n WHERE n.id = \(tenant.uuid)
            ),
            body AS (
                INSERT INTO staged_body (task_id, tenant_id, bytes)
                SELECT \(task.uuid), \(tenant.uuid), r.bytes FROM room r WHERE r.bytes >= \(bytes)
                ON CONFLICT (task_id) DO UPDATE SET bytes = excluded.bytes
            )
            SELECT r.bytes, r.stored_bytes_max FROM room r
            """,
        ])
        guard let row = rows[1].first else { return bytes }
        let reserved = try row.decode("bytes", as: Int64.self)
        guard reserved < bytes else { return reserved }
        throw .quotaExceeded(Quota(.storedBytes, maximum: try row.decode("stored_bytes_max")))
    }

    /// Removes what is known of bodies whose files are gone.
    package func forget(_ tasks: [TaskID]) async throws(StoreError) {
        guard !tasks.isEmpty else { return }
        _ = try await database.run(
            "DELETE FROM staged_body WHERE task_id = ANY (\(tasks.map(\.uuid)))"
        )
    }

    /// Examines a batch of bodies for those whose tasks have ended, and removes what is known of
    /// those whose tasks are gone.
    ///
    /// A request that still brings bytes may reserve room after the end of its task, and after the
    /// file is gone.
    ///
    /// - Returns: the files to remove before ``forget(_:)``.
    package func bodiesToForget(
        after position: TaskID?
    ) async throws(StoreError) -> ExpiringTasks {
        let rows = try await database.run(
            """
            WITH page AS MATERIALIZED (
                SELECT b.task_id, b.tenant_id FROM staged_body b
                WHERE b.task_id > \(position?.uuid ?? UUID.zero)
                ORDER BY b.task_id LIMIT \(Self.examinedMax)
            ),
            gone AS (
                DELETE FROM staged_body x WHERE x.task_id = ANY (ARRAY(
                    SELECT p.task_id FROM page p
                    WHERE (SELECT t.id FROM task t WHERE t.id = p.task_id) IS NULL))
            )
            SELECT p.task_id AS id, p.tenant_id, NULL::bigint AS part_fence,
                true AS upload_is_staged, (
                    SELECT o.finished_at FROM outcome o WHERE o.task_id = ANY (ARRAY[p.task_id])
                ) AS finished_at
            FROM page p ORDER BY p.task_id
            """
        )
        var ended: [TaskRemains] = []
        var last: TaskID?
        for row in rows {
            let body = try TaskRemains(row)
            last = body.task
            if body.finishedAt != nil { ended.append(body) }
        }
        return ExpiringTasks(remains: ended, position: rows.count == Self.examinedMax ? last : nil)
    }
}
