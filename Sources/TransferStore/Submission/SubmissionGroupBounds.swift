/// What the transaction that several submissions share may hold, and how long they wait for it.
struct SubmissionGroupBounds: Sendable {
    /// Requests in one group.
    var requestsMax = 128
    /// Tasks and bytes in one group.
    var sizeMax = SubmissionSize(taskCount: 1000, byteCount: 8 << 20)
    /// A larger request goes alone: its commit costs it little.
    var requestSizeMax = SubmissionSize(
        taskCount: SubmissionStore.groupedTasksMax,
        byteCount: 256 << 10
    )
    /// Groups at once.
    var groupsMax = 2
    /// How long a request waits for others while a group is under way.
    var gatherMax: Duration = .milliseconds(2)
    /// Requests that wait for a group.
    var waitingMax = 1024
    /// How long a request may wait for a group, as for a connection of the pool.
    var waitMax: Duration = .seconds(5)

    /// Returns whether a group may have so much.
    func hold(requestCount: Int, _ size: SubmissionSize) -> Bool {
        requestCount <= requestsMax && size.fits(in: sizeMax)
    }
}
