package import Foundation

/// A unit of isolation, with its bounds and the counts of its tasks.
package struct Tenant: Sendable {
    package let name: String
    /// The most tasks that have not ended; nil for any number.
    package let outstandingTasksMax: Int64?
    /// The most tasks that run at once, over all workers; nil for any number.
    package let runningTasksMax: Int?
    /// The most requests per second to each instance; nil for any number.
    package let requestsPerSecondMax: Int?
    /// The most bytes per second of all its running tasks together; nil for no limit.
    package let totalBytesPerSecondMax: Int64?
    /// The most bytes of results, of bodies for uploads and of kept parts; nil for any number.
    package let storedBytesMax: Int64?
    /// The most bytes that its running tasks have to move; nil for any number.
    package let inFlightBytesMax: Int64?
    /// Whether its keys may use the hooks for tests.
    package let isForTests: Bool
    /// The counts of the tenant's tasks.
    package let taskCounts: TaskCounts
    package let createdAt: Date

    package init(
        name: String,
        outstandingTasksMax: Int64?,
        runningTasksMax: Int?,
        requestsPerSecondMax: Int?,
        totalBytesPerSecondMax: Int64?,
        storedBytesMax: Int64? = nil,
        inFlightBytesMax: Int64? = nil,
        isForTests: Bool = false,
        taskCounts: TaskCounts,
        createdAt: Date
    ) {
        self.name = name
        self.outstandingTasksMax = outstandingTasksMax
        self.runningTasksMax = runningTasksMax
        self.requestsPerSecondMax = requestsPerSecondMax
        self.totalBytesPerSecondMax = totalBytesPerSecondMax
        self.storedBytesMax = storedBytesMax
        self.inFlightBytesMax = inFlightBytesMax
        self.isForTests = isForTests
        self.taskCounts = taskCounts
        self.createdAt = createdAt
    }
}
