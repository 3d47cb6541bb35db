package import TransferModel

/// The result of a request to retry a task.
package enum RetryTaskResult: Sendable {
    /// The task as it then is: back in the queue, or unchanged because it had not ended.
    case answered(TransferTask)
    /// The task is completed, and stays so.
    case completed
    /// The bytes that its client brought for the upload are no longer kept.
    case bodyGone
    /// The task's session has ended.
    case sessionEnded
    /// The task's session ends with its outstanding tasks.
    case sessionFinishing
    /// The session's client was force-quit and has not been launched since.
    case clientForceQuit(ClientID)
    /// Too many tasks of all tenants together are already waiting.
    case queueFull
    /// The tenant has no such task.
    case unknownTask
}
