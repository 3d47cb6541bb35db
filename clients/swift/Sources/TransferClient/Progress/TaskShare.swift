/// What a task contributes to the progress of its session.
struct TaskShare: Equatable {
    /// The units of one task in the progress of its session.
    static let unitsOfTask: Int64 = 1000

    /// The number of tasks: 1 once it was resumed or taken over.
    var tasks = 0
    /// The number of tasks that have ended.
    var ended = 0
    /// The units that are done.
    var units: Int64 = 0

    /// Returns what has to be added to `before` to get this.
    func change(since before: TaskShare) -> TaskShare {
        TaskShare(
            tasks: tasks - before.tasks,
            ended: ended - before.ended,
            units: units - before.units
        )
    }
}
