package import TransferModel

/// The result of a request to suspend a task.
package enum SuspendTaskResult: Sendable {
    /// The task as it then is: suspended, unless its state did not allow it.
    case answered(TransferTask)
    /// The task continues, because its request is running and must not be sent twice.
    case inFlight(TransferTask)
    /// The tenant has no such task.
    case unknownTask

    /// The task as it then is; nil when the tenant has none.
    package var task: TransferTask? {
        switch self {
        case .answered(let task), .inFlight(let task): task
        case .unknownTask: nil
        }
    }
}
