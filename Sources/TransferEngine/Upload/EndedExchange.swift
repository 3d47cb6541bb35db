import Curl
import TransferModel

/// An exchange whose attempt has ended, with all that it hands over.
struct EndedExchange: Sendable {
    let claim: TaskClaim
    var end: Exchange.End
    let metrics: AttemptMetrics
    /// The URL of the last request.
    let url: CurlURL
    let bytesReceived: Int64
    let bytesSent: Int64
    /// The bytes of ``bytesSent`` that the origin had before.
    let bytesSkipped: Int64
    /// Whether the origin may have acted on the request.
    let mayHaveArrived: Bool
    /// The time left for the whole task.
    let remaining: Duration

    /// The bytes transferred in both directions.
    var bytes: Int64 { bytesReceived + bytesSent - bytesSkipped }
}
