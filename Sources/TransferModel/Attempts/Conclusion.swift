/// The end of an attempt.
package struct Conclusion: Sendable {
    package let task: TaskID
    package let fence: Fence
    package let verdict: Verdict
    /// The bytes of the file that are present; for a completed task its publication knows them.
    package let bytesReceived: Int64
    /// The bytes of an upload that were sent.
    package let bytesSent: Int64
    /// The durable part file from which a later attempt may continue.
    package var partial: PartialDownload?
    /// The fence that names a part file from which nobody may continue.
    package var abandoned: Fence?
    package let metrics: AttemptMetrics?
    /// The resumption to store before the conclusion, unless it is already stored.
    package let resumption: Resumption?

    package init(
        task: TaskID,
        fence: Fence,
        verdict: Verdict,
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
        self.verdict = verdict
        self.bytesReceived = bytesReceived
        self.bytesSent = bytesSent
        self.partial = partial
        self.metrics = metrics
    }

    /// The result of an attempt and what follows it.
    package enum Verdict: Equatable, Sendable {
        /// The publication's file is under its final name and durable.
        case completed
        /// The part file is whole and durable, and is itself the result.
        case fetched(TransferResult, part: Fence)
        /// The origin has answered a data task, or an upload, for which the body may be only the
        /// start of the answer.
        case answered(TransferResult, body: [UInt8])
        /// No further attempt will be made.
        case failed(TransferFailure)
        /// Another attempt follows after the delay.
        case retry(TransferFailure, after: Duration)
        /// The host cannot be reached; another attempt follows after the delay or as soon as the
        /// host is reached, and this attempt does not count.
        case waitForConnectivity(TransferFailure, after: Duration)
        /// This machine is short of a resource; another attempt follows after the delay, and this
        /// one does not count.
        case waitOut(TransferFailure, after: Duration)
        /// The origin wants a credential; another attempt follows the client's answer, which has to
        /// come within the time, and this attempt does not count. The named credential is the one
        /// that did not work.
        case askForCredential(TransferFailure, Origin, named: String?, within: Duration)
        /// The task was given back unharmed, as when the worker stops; the attempt does not count.
        case released
        /// The task returns to the queue because its worker died; the attempt counts.
        case requeued

        /// Whether the task is runnable again, for any worker that has room.
        package var isBackInQueue: Bool {
            switch self {
            case .released, .requeued: true
            case .completed, .fetched, .answered, .failed, .retry, .waitForConnectivity,
                .waitOut, .askForCredential:
                false
            }
        }

        /// Whether another attempt continues where this one ended.
        package var isFollowedByAnother: Bool {
            switch self {
            case .retry, .waitForConnectivity, .waitOut, .askForCredential, .released: true
            case .completed, .fetched, .answered, .failed, .requeued: false
            }
        }
    }
}
