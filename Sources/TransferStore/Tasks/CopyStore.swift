import Foundation
import Postgres
package import TransferModel

/// Finds the results that uploads copy.
package struct CopyStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension CopyStore {
    /// Returns those of `tasks` that are completed downloads of the tenant and whose results are
    /// kept.
    package func keptResults(
        of tasks: [TaskID],
        tenant: TenantID
    ) async throws(StoreError) -> Set<TaskID> {
        let rows = try await database.run(
            Self.select(tasks, tenants: tasks.map { _ in tenant })
        )
        return Set(try rows.map { row throws(StoreError) in try row.task("id") })
    }

    /// Returns the claims, each that copies a kept result as one that sends its file, with what
    /// tells that file from another of its name.
    package func sendingResults(_ claims: [TaskClaim]) async throws(StoreError) -> [TaskClaim] {
        let copies = claims.indices.filter { claims[$0].request.copiedTask != nil }
        let rows = try await database.run(
            Self.select(
                copies.compactMap { claims[$0].request.copiedTask },
                tenants: copies.map { claims[$0].tenant }
            )
        )
        var claims = claims
        for row in rows {
            let index = copies[Int(try row.decode("place", as: Int64.self)) - 1]
            let bytes: Int64 = try row.decode("bytes_received")
            // One whose head cannot be read is missing: thrown, it would hold up the others.
            guard let result = try? row.result(bytesReceived: bytes) else { continue }
            let path = try row.resultPath(of: try row.task("id"))
            claims[index].request.upload = .file(path: path)
            claims[index].copiedResult = TransferResult.Content(
                bytes: bytes,
                file: result.file,
                finishedAt: try row.decode("finished_at")
            )
        }
        return claims
    }

    /// Returns the query for the kept results among those of `tasks`, each of the tenant at the
    /// same place, counted from 1.
    ///
    /// A row that names no file counts as one whose result is gone: read, it would hold up every
    /// other copy of the claim.
    private static func select(_ tasks: [TaskID], tenants: [TenantID]) -> Query {
        """
        SELECT k.place, t.id, t.destination_path, t.destination_overwrite, o.part_fence,
            o.bytes_received, o.http_status, o.response_head, o.finished_at
        FROM unnest(\(tasks.map(\.uuid)), \(tenants.map(\.uuid)))
            WITH ORDINALITY AS k (id, tenant_id, place)
        CROSS JOIN LATERAL (SELECT * FROM task t WHERE t.id = k.id LIMIT 1) t
        CROSS JOIN LATERAL (SELECT * FROM outcome o WHERE o.task_id = k.id LIMIT 1) o
        WHERE t.tenant_id = k.tenant_id AND t.kind = 'download' AND o.state = 'completed'
            AND (t.destination_path IS NOT NULL OR o.part_fence IS NOT NULL)
            AND o.result_gone_at IS NULL AND \(ErasureStore.isNotErased)
        """
    }
}
