import Foundation
import Postgres
package import TransferModel

/// A part of a session's tasks.
package struct TaskPage: Sendable {
    /// The tasks in order of submission.
    package let tasks: [TransferTask]
    /// The task after which there may be more; nil when there are no more.
    package let next: TaskID?

    /// Decodes `limit` rows and one more if there is another page, or a single row without a task.
    init(
        _ rows: StoredRows,
        limit: Int,
        keptFor retention: Duration
    ) throws(StoreError) {
        var tasks: [TransferTask] = []
        for row in rows.prefix(limit) {
            guard try row.decodeIfPresent("id", as: UUID.self) != nil else { break }
            tasks.append(try TransferTask(row, keptFor: retention))
        }
        let end = try rows.first?.decodeIfPresent("looked_through", as: UUID.self)
        self.tasks = tasks
        let isFull = PageSize.isFull(tasks)
        next = rows.count > limit || isFull ? tasks.last?.id : end.map { TaskID($0) }
    }
}
