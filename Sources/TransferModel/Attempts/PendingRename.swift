/// A whole and durable part file that is to be renamed to its destination.
package struct PendingRename: Sendable {
    package let task: TaskID
    /// The fence that guards the transition; it changes when another worker takes the pending
    /// rename over.
    package let fence: Fence
    /// The fence that names the part file; it stays what it was when the file was written.
    package let partFence: Fence
    package let tenant: TenantID
    package let destination: Destination?
    package var result: TransferResult
    /// The identity by which the file is recognized under its destination; nil until it is durable.
    package var file: FileIdentity?
    /// The attempt's measurements; nil when the worker that transferred the file is gone.
    package let metrics: AttemptMetrics?
    /// The resumption to store before the pending rename, unless it is already stored.
    package let resumption: Resumption?

    package init(
        task: TaskID,
        fence: Fence,
        partFence: Fence,
        tenant: TenantID,
        destination: Destination?,
        result: TransferResult,
        file: FileIdentity? = nil,
        metrics: AttemptMetrics? = nil,
        resumption: Resumption? = nil
    ) {
        self.task = task
        self.fence = fence
        self.file = file
        self.resumption = resumption
        self.partFence = partFence
        self.tenant = tenant
        self.destination = destination
        self.result = result
        self.metrics = metrics
    }
}

extension PendingRename {
    /// Creates the pending rename of an attempt by the worker that has claimed it; its part file is
    /// its own unless `partFence` names that of an earlier one.
    package init(
        of claim: TaskClaim,
        partFence: Fence? = nil,
        result: TransferResult,
        file: FileIdentity? = nil,
        metrics: AttemptMetrics? = nil,
        resumption: Resumption? = nil
    ) {
        self.init(
            task: claim.task,
            fence: claim.fence,
            partFence: partFence ?? claim.fence,
            tenant: claim.tenant,
            destination: claim.destination,
            result: result,
            file: file,
            metrics: metrics,
            resumption: resumption
        )
    }
}
