/// The progress of a running attempt.
package struct AttemptProgress: Sendable {
    package let task: TaskID
    package let fence: Fence
    /// The bytes of the file that are present.
    package let bytesReceived: Int64
    /// The length of the file; nil while unknown.
    package let bytesExpected: Int64?
    /// The bytes of an upload that were sent.
    package let bytesSent: Int64
    /// The length of the upload; nil while unknown.
    package let bytesToSend: Int64?
    /// The rate of the last seconds, received and sent together.
    package let bytesPerSecond: Int64
    /// Whether an event is to report the progress.
    package let isTold: Bool
    /// The part from which a later attempt may continue, when it is to be stored now.
    package let checkpoint: PartialDownload?

    package init(
        task: TaskID,
        fence: Fence,
        bytesReceived: Int64,
        bytesExpected: Int64?,
        bytesSent: Int64 = 0,
        bytesToSend: Int64? = nil,
        bytesPerSecond: Int64 = 0,
        isTold: Bool = false,
        checkpoint: PartialDownload? = nil
    ) {
        self.task = task
        self.fence = fence
        self.bytesReceived = bytesReceived
        self.bytesExpected = bytesExpected
        self.bytesSent = bytesSent
        self.bytesToSend = bytesToSend
        self.bytesPerSecond = bytesPerSecond
        self.isTold = isTold
        self.checkpoint = checkpoint
    }
}
