import Foundation
import Postgres
package import TransferModel
package import TransferStore

extension RetentionStore {
    /// Removes ended tasks, as if their files were gone.
    package func expire(_ tasks: [TaskID]) async throws {
        let connection = try await TestDatabase.current.connection()
        let rows = try await connection.execute(
            """
            SELECT i.id, o.finished_at
            FROM unnest(\(tasks.map(\.uuid))) AS i (id) LEFT JOIN outcome o ON o.task_id = i.id
            """
        )
        await connection.close()
        var ends: [(task: TaskID, finishedAt: Date?)] = []
        for row in rows {
            ends.append(
                (
                    task: TaskID(try row.decode("id", as: UUID.self)),
                    finishedAt: try row.decodeIfPresent("finished_at", as: Date.self)
                )
            )
        }
        try await expire(ends)
    }
}
