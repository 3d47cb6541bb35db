/// A task's priority among the tasks for one host, higher first: `URLSessionTask.priority`, 0…1.
package struct TaskPriority: Hashable, Sendable {
    /// The stored rank: 0 (first) to 1000 (last), so that an index reads in claim order.
    package let rank: Int16

    /// The priority of a task that names none.
    package static let `default` = TaskPriority(rank: 500)

    /// - Returns: nil outside 0…1.
    package init?(_ priority: Double) {
        guard (0...1).contains(priority) else { return nil }
        rank = Int16(((1 - priority) * 1000).rounded())
    }

    /// Restores a priority from the database.
    package init(rank: Int16) { self.rank = rank }

    /// The priority in 0…1, in steps of a thousandth.
    package var value: Double { Double(1000 - rank) / 1000 }
}
