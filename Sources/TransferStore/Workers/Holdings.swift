package import TransferModel

/// The work that the database assigns to a worker.
package struct Holdings: Sendable {
    package let attempts: [(task: TaskID, fence: Fence)]
    package let pendingRenames: [PendingRename]
    /// The attempts that were taken away from the worker, and may still run.
    package let revocations: [Fence]
}
