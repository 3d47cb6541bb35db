import Foundation
import Postgres
package import TransferModel

/// Finds the results that uploads copy.
package struct CopyStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension CopyStore {
    /// Returns the paths of the kept results among those of `tasks`, in the container of `tenant`;
    /// of tasks that are no completed downloads of the tenant there are none.
    package func results(
        of tasks: [TaskID],
        tenant: TenantID
    ) async throws(StoreError) -> [TaskID: String] {
        let rows = try await database.run(
            """
            SELECT t.id, t.destination_path, t.destination_overwrite, o.part_fence
            FROM unnest(\(tasks.map(\.uuid))) AS k (id)
            CROSS JOIN LATERAL (SELECT * FROM task t WHERE t.id = k.id LIMIT 1) t
            CROSS JOIN LATERAL (SELECT * FROM outcome o WHERE o.task_id = k.id LIMIT 1) o
            WHERE t.tenant_id = \(tenant.uuid) AND t.kind = 'download' AND o.state = 'completed'
                AND o.result_gone_at IS NULL AND \(ErasureStore.isNotErased)
            """
        )
        var paths: [TaskID: String] = [:]
        for row in rows {
            let task = try row.task("id")
            paths[task] = ResultLocation.path(
                of: task,
                destination: try row.destination(),
                part: try row.decodeIfPresent("part_fence").map(Fence.init(rawValue:))
            )
        }
        return paths
    }

    /// Returns the claims, each that copies a kept result as one that sends its file.
    package func results(of claims: [TaskClaim]) async throws(StoreError) -> [TaskClaim] {
        var copied: [TenantID: [TaskID]] = [:]
        for claim in claims {
            if let task = claim.request.copiedTask {
                copied[claim.tenant, default: []].append(task)
            }
        }
        var paths: [TenantID: [TaskID: String]] = [:]
        for (tenant, tasks) in copied {
            paths[tenant] = try await results(of: tasks, tenant: tenant)
        }
        return claims.map { claim in
            guard let task = claim.request.copiedTask, let path = paths[claim.tenant]?[task] else {
                return claim
            }
            var claim = claim
            claim.request.upload = .file(path: path)
            return claim
        }
    }
}
