/// A place in a flow, by what its tasks are in order of.
package struct FlowPosition: Hashable, Sendable {
    package let priority: TaskPriority
    package let task: TaskID

    package init(priority: TaskPriority, task: TaskID) {
        self.priority = priority
        self.task = task
    }
}
