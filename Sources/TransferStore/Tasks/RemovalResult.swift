package import TransferModel

/// The result of a request to remove a task.
package enum RemovalResult: Sendable {
    /// The task has ended, and these are its files.
    case removable(TaskRemains, parts: [AbandonedPart])
    /// The task has not ended.
    case notEnded
    /// A worker is still stopping the task, or another task takes over its bytes.
    case inUse
    /// The tenant has no such task.
    case unknownTask
}
