import Foundation
import Postgres
package import TransferModel

/// A part of a session's tasks.
package struct TaskPage: Sendable {
    /// The tasks in order of submission.
    package let tasks: [TransferTask]
    /// The tasks of the page that this release cannot read, as one that a later release has stored.
    package let unreadable: [TaskID]
    /// The task after which there may be more; nil when there are no more.
    package let next: TaskID?
    /// The bytes of the client strings of all its tasks, whether they can be read or not.
    let clientStringBytes: Int

    /// Decodes `limit` rows and one more if there is another page, or a single row without a task.
    init(
        _ rows: StoredRows,
        limit: Int,
        keptFor retention: Duration
    ) throws(StoreError) {
        var tasks: [TransferTask] = []
        var unreadable: [TaskID] = []
        var last: TaskID?
        for row in rows.prefix(limit) {
            guard let id = try row.decodeIfPresent("id", as: UUID.self) else { break }
            last = TaskID(id)
            do throws(StoreError) {
                tasks.append(try TransferTask(row, keptFor: retention))
            } catch {
                unreadable.append(TaskID(id))
            }
        }
        let end = try rows.first?.decodeIfPresent("looked_through", as: UUID.self)
        self.tasks = tasks
        self.unreadable = unreadable
        clientStringBytes = try PageSize.bytes(of: rows)
        let isFull = clientStringBytes >= PageSize.pageBytesMax
        next = rows.count > limit || isFull ? last : end.map { TaskID($0) }
    }
}
