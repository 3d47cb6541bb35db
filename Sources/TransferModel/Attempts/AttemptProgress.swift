/// How far a running attempt is.
package struct AttemptProgress: Sendable {
    package let task: TaskID
    package let fence: Fence
    /// Bytes of the file that are there.
    package let bytesReceived: Int64
    package let bytesExpected: Int64?
    /// Bytes of an upload that were sent.
    package let bytesSent: Int64
    package let bytesToSend: Int64?
    /// In the last seconds, received and sent.
    package let bytesPerSecond: Int64
    /// Whether an event is to tell of it.
    package let isTold: Bool
    /// The part that a later attempt may go on with, when it is to be stored now.
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
