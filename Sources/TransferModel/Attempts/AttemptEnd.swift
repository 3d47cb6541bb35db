/// The end of an attempt.
package struct AttemptEnd: Sendable {
    package let task: TaskID
    package let fence: Fence
    package let outcome: AttemptOutcome
    /// The bytes of the file that are present; for a completed task its pending rename knows them.
    package let bytesReceived: Int64
    /// The bytes of an upload that were sent.
    package let bytesSent: Int64
    /// The durable part file from which a later attempt may continue.
    package var partial: PartialDownload?
    /// The fence that names a part file from which nobody may continue.
    package var abandoned: Fence?
    package let metrics: AttemptMetrics?
    /// The resumption to store before the end, unless it is already stored.
    package let resumption: Resumption?

    package init(
        task: TaskID,
        fence: Fence,
        outcome: AttemptOutcome,
        bytesReceived: Int64 = 0,
        bytesSent: Int64 = 0,
        partial: PartialDownload? = nil,
        abandoned: Fence? = nil,
        metrics: AttemptMetrics? = nil,
        resumption: Resumption? = nil
    ) {
        self.task = task
        self.fence = fence
        self.resumption = resumption
        self.abandoned = abandoned
        self.outcome = outcome
        self.bytesReceived = bytesReceived
        self.bytesSent = bytesSent
        self.partial = partial
        self.metrics = metrics
    }
}
