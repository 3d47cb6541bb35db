import Postgres
package import TransferModel

/// A completed download and where its file is to be.
package struct StoredResult: Sendable {
    package let task: TaskID
    package let tenant: TenantID
    /// Relative to the container of its tenant.
    package let path: String
    package let bytes: Int64
    /// Whether nobody but the task can have written a file of that name.
    package let isOwnFile: Bool
    /// Whether it was found to be gone before.
    package let isKnownGone: Bool
}

extension StoredResult: RowDecodable {
    init(_ row: StoredRow) throws(StoreError) {
        let part = try row.decodeIfPresent("part_fence", as: Int64.self).map(Fence.init(rawValue:))
        let task = try row.task("task_id")
        self.init(
            task: task,
            tenant: try row.tenant("tenant_id"),
            path: ResultLocation.path(of: task, destination: try row.destination(), part: part),
            bytes: try row.decode("bytes_received"),
            isOwnFile: part != nil,
            isKnownGone: try row.decode("is_known_gone")
        )
    }
}
