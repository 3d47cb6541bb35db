package import TransferModel

/// The session of a task.
package struct TaskSession: Sendable {
    package let id: SessionID
    /// Whether another transaction is changing its counters.
    package let isHeld: Bool
}
