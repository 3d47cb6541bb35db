import Curl
import TransferContainer
import TransferModel

/// A download whose attempt has ended, with all that it hands over.
struct EndedDownload: Sendable {
    let claim: TaskClaim
    let end: ResponseStateMachine.End
    /// The bytes, as far as they were written; nil when there are none.
    let part: Part?
    /// The checksums that the file must have.
    let wanted: [Checksum]
    /// The actual checksums, for a file so small that they are already known.
    let found: [Checksum]?
    /// The reader that will soon know the checksums of a larger file.
    let follower: FileFollower?
    /// The data a later attempt needs to resume the file; nil when it must not.
    var partial: PartialDownload?
    /// The file of an earlier attempt that does not match what the origin has now.
    let dropped: PartFile?
    let resumption: Resumption?
    let metrics: AttemptMetrics
    /// The URL of the last request.
    let url: CurlURL
    let bytesReceived: Int64
    /// Whether the origin may have acted on the request.
    let mayHaveArrived: Bool
    /// The time left for the whole task.
    let remaining: Duration
}
