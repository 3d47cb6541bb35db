package import Foundation
import Postgres
package import TransferModel

/// The files that an ended task leaves in its tenant's container.
package struct TaskRemains: Sendable {
    /// The ended task.
    package let task: TaskID
    /// The tenant of the task.
    package let tenant: TenantID
    /// Paths relative to the tenant's container, without files named by a client.
    package let paths: [String]
    /// When the task ended; nil if its session has ended too, so that nothing retries it.
    package let finishedAt: Date?
}

extension TaskRemains {
    init(_ row: StoredRow) throws(StoreError) {
        task = try row.task("id")
        tenant = try row.tenant("tenant_id")
        finishedAt = try row.decodeIfPresent("finished_at")
        var paths: [String] = []
        if let part = try row.decodeIfPresent("part_fence").map(Fence.init(rawValue:)) {
            paths.append(ResultLocation.partPath(of: task, destination: nil, fence: part))
        }
        if try row.decode("upload_is_staged") { paths.append(ResultLocation.bodyPath(of: task)) }
        self.paths = paths
    }
}
