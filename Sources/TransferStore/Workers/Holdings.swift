package import TransferModel

/// What the database says that a worker is at work on.
package struct Holdings: Sendable {
    package let attempts: [(task: TaskID, fence: Fence)]
    package let pendingRenames: [PendingRename]
}
