package import Foundation

/// A part of the tasks that a client has taken over.
package struct Reconnection: Sendable {
    /// Tasks taken at once.
    package static let limitDefault = 100
    package static let limitMax = 1000
    /// Of the name that a client gives itself.
    package static let ownerBytesMax = 255

    package let lease: LeaseToken
    /// Nil when it does not end.
    package let expiresAt: Date?
    /// In order of submission.
    package let items: [Item]
    /// Behind which there may be more; nil when there was nothing more.
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
        /// Nil when what is stored of it cannot be read.
        package let task: TransferTask?

        package init(id: TaskID, task: TransferTask?) {
            self.id = id
            self.task = task
        }

        /// The task, or why its client cannot go on with it.
        package func result(
            in format: PersistedFormat?
        ) -> Result<TransferTask, ReconnectionError> {
            guard let task else { return .failure(.unknown) }
            guard let clientString = task.clientString else { return .failure(.noPersistedInfo) }
            if let error = format?.error(in: clientString) { return .failure(error) }
            return .success(task)
        }
    }
}
