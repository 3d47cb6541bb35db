package import Foundation

/// A client's changes to a task that has not ended; nil leaves a value as it is.
package struct TaskChange: Sendable {
    /// A new client string, or none.
    package var clientString: ClientString??
    /// A new earliest start, or none, which means now.
    package var earliestBeginAt: Date??
    package var priority: TaskPriority?
    /// The name of another credential, or none; a task that waits for one continues.
    package var credential: String??
    /// A new limit of the task's own, or none, so that its session's limit applies.
    package var bytesPerSecondMax: Int64??

    package init() {}
}
