import Postgres
package import TransferModel

/// A completed download and the expected path of its file.
package struct StoredResult: Sendable {
    /// The download task.
    package let task: TaskID
    /// The tenant of the task.
    package let tenant: TenantID
    /// The path relative to the container of its tenant.
    package let path: String
    /// The size of the file.
    package let bytes: Int64
    /// Whether only the task can have written a file of that name.
    package let isOwnFile: Bool
    /// Whether the file was already found to be gone.
    package let isKnownGone: Bool
}

extension StoredResult: RowDecodable {
    init(_ row: StoredRow) throws(StoreError) {
        let task = try row.task("task_id")
        self.init(
            task: task,
            tenant: try row.tenant("tenant_id"),
            path: try row.resultPath(of: task),
            bytes: try row.decode("bytes_received"),
            isOwnFile: try row.decodeIfPresent("part_fence", as: Int64.self) != nil,
            isKnownGone: try row.decode("is_known_gone")
        )
    }
}
