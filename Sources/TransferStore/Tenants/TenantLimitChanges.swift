/// What an operator changes about the limits of a tenant: nil leaves a limit as it is, and
/// `.some(nil)` takes it away.
package struct TenantLimitChanges: Sendable {
    /// What all of its tasks together may have in a second.
    package var totalBytesPerSecondMax: Int64??
    /// How many of its tasks may not have ended.
    package var outstandingTasksMax: Int64??
    /// How many of its tasks may be running, over all workers.
    package var runningTasksMax: Int??

    package init(
        totalBytesPerSecondMax: Int64?? = nil,
        outstandingTasksMax: Int64?? = nil,
        runningTasksMax: Int?? = nil
    ) {
        self.totalBytesPerSecondMax = totalBytesPerSecondMax
        self.outstandingTasksMax = outstandingTasksMax
        self.runningTasksMax = runningTasksMax
    }
}
