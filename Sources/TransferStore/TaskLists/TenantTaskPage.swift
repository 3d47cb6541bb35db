package import TransferModel

/// A part of the tasks of all living sessions of a tenant.
package struct TenantTaskPage: Sendable {
    /// A place in such a list: behind a task of a session, or before its first one.
    package struct Place: Equatable, Sendable {
        package let session: SessionID
        package let task: TaskID?

        package init(session: SessionID, task: TaskID?) {
            self.session = session
            self.task = task
        }
    }

    package let tasks: [TransferTask]
    /// The tasks of the page that this release cannot read.
    package let unreadable: [TaskID]
    /// The place at which there may be more; nil when there are no more.
    package let next: Place?
}
