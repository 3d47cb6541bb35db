package import Foundation

/// A batch of the tasks that a client has taken over.
package struct Reconnection: Sendable {
    /// The number of tasks taken at once unless the client says otherwise.
    package static let limitDefault = 100
    /// The most tasks taken at once.
    package static let limitMax = 1000
    /// The longest name that a client gives itself, in bytes.
    package static let ownerBytesMax = 255

    /// The lease on the tasks.
    package let lease: LeaseToken
    /// The end of the lease; nil when it does not end.
    package let expiresAt: Date?
    /// The tasks in order of submission.
    package let items: [Item]
    /// The task after which there may be more; nil when there is none.
    package let next: TaskID?

    package init(lease: LeaseToken, expiresAt: Date?, items: [Item], next: TaskID?) {
        self.lease = lease
        self.expiresAt = expiresAt
        self.items = items
        self.next = next
    }

    /// A task that was taken over.
    package struct Item: Sendable {
        package let id: TaskID
        /// The task; nil when its stored form cannot be read.
        package let task: TransferTask?

        package init(id: TaskID, task: TransferTask?) {
            self.id = id
            self.task = task
        }
    }
}
