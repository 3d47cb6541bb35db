/// How an attempt ends.
package struct Conclusion: Sendable {
    package let task: TaskID
    package let fence: Fence
    package let verdict: Verdict
    /// Bytes of the file that are there; of a completed task its publication knows them.
    package let bytesReceived: Int64
    /// Bytes of an upload that were sent.
    package let bytesSent: Int64
    /// The part file that a later attempt may go on with, made durable.
    package var partial: PartialDownload?
    /// Names a part file that nobody may go on with.
    package var abandoned: Fence?
    package let metrics: AttemptMetrics?
    /// Stored before the conclusion, unless it was already.
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

    package enum Verdict: Equatable, Sendable {
        /// The publication's file is under its final name and durable.
        case completed
        /// The part file is whole and durable, and the result as it is.
        case fetched(TransferResult, part: Fence)
        /// The origin has answered an upload, of which the body may be the begin, or a data task.
        case answered(TransferResult, body: [UInt8])
        /// No further attempt will be made.
        case failed(TransferFailure)
        /// Another attempt follows after the delay.
        case retry(TransferFailure, after: Duration)
        /// The host cannot be reached; another attempt follows after the delay, or as soon as it is
        /// reached, and this one does not count.
        case waitForConnectivity(TransferFailure, after: Duration)
        /// This machine is short of something; another attempt follows after the delay, and this one
        /// does not count.
        case waitOut(TransferFailure, after: Duration)
        /// The origin wants a credential; another attempt follows the client's answer, which has to
        /// come within the time, and this one does not count. The named credential is the one that
        /// was not good.
        case askForCredential(TransferFailure, Origin, named: String?, within: Duration)
        /// Given back unharmed, as when the worker stops; the attempt does not count.
        case released
        /// Back to the queue because the worker died with it; the attempt counts.
        case requeued

        /// Whether the task is runnable again, for whichever worker has room.
        package var isBackInQueue: Bool {
            switch self {
            case .released, .requeued: true
            case .completed, .fetched, .answered, .failed, .retry, .waitForConnectivity,
                .waitOut, .askForCredential:
                false
            }
        }

        /// Whether another attempt goes on where this one ended.
        package var isFollowedByAnother: Bool {
            switch self {
            case .retry, .waitForConnectivity, .waitOut, .askForCredential, .released: true
            case .completed, .fetched, .answered, .failed, .requeued: false
            }
        }
    }
}
