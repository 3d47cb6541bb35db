import TransferModel

/// The status of a running attempt that is to be stored.
struct AttemptStatus {
    var received: Int64 = 0
    var expected: Int64?
    var sent: Int64 = 0
    var toSend: Int64?
    /// The bytes that the source of a copy has sent, which count towards rates as those that are
    /// sent on do.
    var copied: Int64 = 0
    /// The bytes of ``sent`` that the origin had before the attempt.
    var skipped: Int64 = 0
    /// Whether its bytes come from the task's own host and not from another after a redirect.
    var isAtOrigin = true
    /// The bytes that were there before, once the origin sends only the rest.
    var resumption: Resumption?
    /// The file from which a later attempt may resume; nil as long as resuming would not pay off.
    var checkpoint: PartialDownload?

    /// The bytes that count towards rates.
    var moved: Int64 { received + sent + copied }
}
