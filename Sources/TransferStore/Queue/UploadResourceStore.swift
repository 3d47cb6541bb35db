import Postgres
package import TransferModel

/// The resources that origins have named for the rest of uploads.
package struct UploadResourceStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension UploadResourceStore {
    /// Stores the resource that an origin has named to a running attempt, in place of an earlier
    /// one.
    ///
    /// - Returns: false for a stale fence, which changes nothing.
    package func keep(
        _ resource: UploadResource,
        of claim: TaskClaim
    ) async throws(StoreError) -> Bool {
        let url = try database.sealer.seal(
            Array(resource.url.utf8),
            at: .uploadResource(of: claim.task, of: claim.tenant)
        )
        let rows = try await database.run([
            AttemptRuns.separate([claim.task], [claim.fence]),
            """
            WITH running AS MATERIALIZED (
                -- The lock orders this before or after the end of the attempt, and its takeover.
                SELECT a.task_id FROM attempt a
                WHERE a.task_id = \(claim.task.uuid) AND a.fence = \(claim.fence.rawValue)
                FOR KEY SHARE
            )
            INSERT INTO upload_resource (task_id, fence, dialect, url, is_at_origin, body)
            SELECT r.task_id, \(resource.fence.rawValue), \(resource.dialect.rawValue), \(url),
                \(resource.isAtOrigin), \(resource.body)
            FROM running r
            ON CONFLICT (task_id) DO UPDATE SET fence = excluded.fence,
                dialect = excluded.dialect, url = excluded.url,
                is_at_origin = excluded.is_at_origin, body = excluded.body
            RETURNING task_id
            """,
        ])
        return !rows[1].isEmpty
    }

    /// Forgets a resource at which no attempt may continue; a later one of the task stays.
    package func forget(_ resource: UploadResource, of task: TaskID) async throws(StoreError) {
        _ = try await database.run(
            """
            DELETE FROM upload_resource
            WHERE task_id = \(task.uuid) AND fence = \(resource.fence.rawValue)
            """
        )
    }

    /// Returns the claims, each with the resource that the origin has named for its upload, if any.
    ///
    /// A resource that does not open makes its claim one with unreadable secrets.
    package func resources(of claims: [TaskClaim]) async throws(StoreError) -> [TaskClaim] {
        let rows = try await database.run(
            """
            SELECT task_id, fence, dialect, url, is_at_origin, body FROM upload_resource
            WHERE task_id = ANY (\(claims.map(\.task.uuid)))
            """
        )
        var found: [TaskID: StoredRow] = [:]
        for row in rows { found[try row.task("task_id")] = row }
        return claims.map { claim in
            guard let row = found[claim.task] else { return claim }
            var claim = claim
            claim.uploadResource = try? UploadResource(row, of: claim)
            claim.hasUnreadableSecrets =
                claim.hasUnreadableSecrets || claim.uploadResource == nil
            return claim
        }
    }
}

extension UploadResource {
    fileprivate init(_ row: StoredRow, of claim: TaskClaim) throws(StoreError) {
        let url = try row.sealer.open(
            row.decode("url", as: [UInt8].self),
            at: .uploadResource(of: claim.task, of: claim.tenant)
        )
        self.init(
            fence: try row.fence("fence"),
            dialect: try row.word("dialect"),
            url: String(decoding: url, as: UTF8.self),
            isAtOrigin: try row.decode("is_at_origin"),
            body: try row.decode("body")
        )
    }
}
