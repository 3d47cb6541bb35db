package import TransferModel

/// The session of a task.
package struct TaskSession: Sendable {
    package let id: SessionID
    /// Whether somebody else is changing its counters.
    package let isHeld: Bool
}
