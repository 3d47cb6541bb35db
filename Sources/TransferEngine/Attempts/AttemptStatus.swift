import TransferModel

/// What is to be stored of a running attempt.
struct AttemptStatus {
    var received: Int64 = 0
    var expected: Int64?
    var sent: Int64 = 0
    var toSend: Int64?
    /// Whether its bytes are those of the task's own host, and not of another by a redirect.
    var isAtOrigin = true
    /// Bytes that were there before, once the origin sends only the rest.
    var resumption: Resumption?
    /// The file that a later attempt may go on with; nil as long as that would not pay.
    var checkpoint: PartialDownload?
}
