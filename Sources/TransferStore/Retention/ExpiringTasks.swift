package import TransferModel

/// Ended tasks whose files are no longer kept, and where to continue the search.
package struct ExpiringTasks: Sendable {
    /// The files that the tasks leave.
    package let remains: [TaskRemains]
    /// The last task examined; nil when there is none after it.
    package let position: TaskID?
}
