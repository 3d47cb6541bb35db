/// Changes of a tenant's limits by an operator: nil leaves a limit as it is, and `.some(nil)`
/// removes it.
package struct TenantLimitChanges: Sendable {
    /// The maximum rate of all its tasks together, in bytes per second.
    package var totalBytesPerSecondMax: Int64??
    /// The maximum number of its tasks that have not ended.
    package var outstandingTasksMax: Int64??
    /// The maximum number of its running tasks, over all workers.
    package var runningTasksMax: Int??
    /// The maximum number of requests per second to each instance.
    package var requestsPerSecondMax: Int??
    /// The maximum number of bytes of its results, of bodies for its uploads and of kept parts.
    package var storedBytesMax: Int64??
    /// The maximum number of bytes that its running tasks have to move.
    package var inFlightBytesMax: Int64??

    package init(
        totalBytesPerSecondMax: Int64?? = nil,
        outstandingTasksMax: Int64?? = nil,
        runningTasksMax: Int?? = nil,
        requestsPerSecondMax: Int?? = nil,
        storedBytesMax: Int64?? = nil,
        inFlightBytesMax: Int64?? = nil
    ) {
        self.totalBytesPerSecondMax = totalBytesPerSecondMax
        self.outstandingTasksMax = outstandingTasksMax
        self.runningTasksMax = runningTasksMax
        self.requestsPerSecondMax = requestsPerSecondMax
        self.storedBytesMax = storedBytesMax
        self.inFlightBytesMax = inFlightBytesMax
    }
}
