import TransferModel

/// The status of a running attempt that is to be stored.
struct AttemptStatus {
    var received: Int64 = 0
    var expected: Int64?
    var sent: Int64 = 0
    var toSend: Int64?
    /// How much of a copy's body its source has sent, with the bytes before the first that was
    /// asked for; it counts towards limits of rates as what is sent on does.
    var copied: Int64 = 0
    /// The bytes of ``sent`` that the origin had before the attempt.
    var skipped: Int64 = 0
    /// Whether its bytes come from the task's own host and not from another after a redirect.
    var isAtOrigin = true
    /// The bytes that were there before, once the origin sends only the rest.
    var resumption: Resumption?
    /// The file from which a later attempt may resume; nil as long as resuming would not pay off.
    var checkpoint: PartialDownload?

    /// The bytes that count towards limits of rates, though not towards the rate that is shown.
    var moved: Int64 { received + sent + copied }
}
