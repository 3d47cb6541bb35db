/// Follows a request's body from its source into the kernel.
struct Upload {
    /// The announced length, or nil when the source does not know it.
    private let length: Int64?
    private var bytesRead: Int64 = 0
    private var hasEnded = false
    private var bytesSent: Int64 = 0

    /// Creates an upload that is before the first byte.
    init(_ request: CurlRequest) {
        length = request.bodySource.map(\.length) ?? Int64(request.body?.count ?? 0)
    }

    /// Whether nothing remains to be sent.
    ///
    /// Without a length, that is when the source has ended and all its bytes were sent; libcurl
    /// also counts the framing of chunks, so this may come some bytes early.
    var isWhole: Bool { length.map { bytesSent >= $0 } ?? (hasEnded && bytesSent >= bytesRead) }

    /// Whether so many bytes more are within the announced length: on the connection, those beyond
    /// it would be the start of another request.
    func mayRead(_ count: Int) -> Bool { length.map { Int64(count) <= $0 - bytesRead } ?? true }

    /// Records the bytes that the source has given; zero is its end.
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

    /// Prepares for sending the body again from its start.
    mutating func restart() { (bytesRead, hasEnded, bytesSent) = (0, false, 0) }
}
