/// A place in a flow, given by the priority and task that its tasks are ordered by.
package struct FlowPosition: Hashable, Sendable {
    package let priority: TaskPriority
    package let task: TaskID

    package init(priority: TaskPriority, task: TaskID) {
        self.priority = priority
        self.task = task
    }
}
