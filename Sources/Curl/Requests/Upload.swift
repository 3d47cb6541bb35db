/// Follows a request's body from its source into the kernel.
struct Upload {
    /// The announced length, or nil when the source does not know it.
    private let length: Int64?
    private var bytesRead: Int64 = 0
    private var hasEnded = false
    private var bytesSent: Int64 = 0

    /// Starts before the first byte.
    init(_ request: CurlRequest) {
        length = request.bodySource.map(\.length) ?? Int64(request.body?.count ?? 0)
    }

    /// Whether nothing is left to be sent.
    ///
    /// Without a length that is when the source has ended and all it gave was sent; libcurl counts
    /// the framing of chunks, too, so this may come some bytes early.
    var isWhole: Bool { length.map { bytesSent >= $0 } ?? (hasEnded && bytesSent >= bytesRead) }

    /// Notes what the source has given; zero is its end.
    mutating func read(_ count: Int) {
        bytesRead += Int64(count)
        if count == 0 { hasEnded = true }
    }

    /// Takes libcurl's count of sent bytes and returns how many are new.
    mutating func send(upTo count: Int64) -> Int64 {
        let new = count - bytesSent
        bytesSent = count
        return new
    }

    /// The body will be sent from its start again.
    mutating func restart() { (bytesRead, hasEnded, bytesSent) = (0, false, 0) }
}
