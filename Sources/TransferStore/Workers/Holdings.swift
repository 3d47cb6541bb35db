package import TransferModel

/// The work that the database assigns to a worker.
package struct Holdings: Sendable {
    package let attempts: [(task: TaskID, fence: Fence)]
    package let pendingRenames: [PendingRename]
}
