/// The bounds of a transaction that several submissions share, and of the wait for it.
struct SubmissionGroupBounds: Sendable {
    /// The maximum number of requests in one group.
    var requestsMax = 128
    /// The maximum number of tasks and bytes in one group.
    var sizeMax = SubmissionSize(taskCount: 1000, byteCount: 8 << 20)
    /// The maximum size of a request in a group; a larger one goes alone, and its commit costs it
    /// little.
    var requestSizeMax = SubmissionSize(
        taskCount: SubmissionStore.groupedTasksMax,
        byteCount: 256 << 10
    )
    /// The maximum number of groups at once.
    var groupsMax = 2
    /// The time for which a request waits for others while a group is in progress.
    var gatherMax: Duration = .milliseconds(2)
    /// The maximum number of requests that wait for a group.
    var waitingMax = 1024
    /// The maximum time for which a request waits for a group, the same as for a connection of the
    /// pool.
    var waitMax: Duration = .seconds(5)

    /// Returns whether a group may hold so many requests of this size in total.
    func hold(requestCount: Int, _ size: SubmissionSize) -> Bool {
        requestCount <= requestsMax && size.fits(in: sizeMax)
    }
}
