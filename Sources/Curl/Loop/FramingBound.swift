import CCurl

/// Compares what a connection receives with the content in it, because libcurl reads the extensions
/// of chunks (RFC 9112, section 7.1.1) without any bound and tells of none.
struct FramingBound {
    /// The bytes that may be received for each byte of content: a chunk of one byte has six, and a
    /// TLS record of it 29 more.
    static let ratioMax: Int64 = 64
    /// The bytes that may be received besides; what the kernel has and nobody has read counts, too.
    static let freeBytes: Int64 = 16 << 20
    /// The pieces of a body between two looks, and the time after which there is another anyway.
    private static let piecesMax = 64
    private static let intervalMax: Duration = .milliseconds(250)

    private var pieces = 0
    private var lastLook: ContinuousClock.Instant?
    /// The bytes of the connection and of the body at the first look; a kept connection has
    /// received others before.
    private var start: (received: Int64, body: Int64)?

    /// Returns whether the socket has received far more than the `body` so far explains.
    mutating func isExceeded(
        on socket: Int32,
        body: Int64,
        at now: ContinuousClock.Instant
    ) -> Bool {
        pieces += 1
        if let lastLook, pieces < Self.piecesMax, now - lastLook < Self.intervalMax { return false }
        pieces = 0
        lastLook = now
        let received = ccurl_bytes_received(socket)
        guard received >= 0 else { return false }
        guard let start else {
            start = (received, body)
            return false
        }
        return (received - start.received - Self.freeBytes) / Self.ratioMax > body - start.body
    }
}
