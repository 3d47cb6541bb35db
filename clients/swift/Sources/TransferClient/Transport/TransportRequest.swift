/// A request as a transport sends it.
public struct TransportRequest: Sendable {
    /// The method, such as `GET`.
    public var method: String
    /// The absolute URL.
    public var url: String
    /// The header fields, without those that frame the body.
    public var headers: [(name: String, value: String)]
    /// The body.
    public var body: Body
    /// The time within which the response has to start.
    public var timeout: Duration
    /// Whether the request may last as long as somebody reads or sends: that of a stream of events,
    /// a result or a file.
    ///
    /// A transport does not let others wait for it.
    public var isLong: Bool

    /// Creates a request.
    public init(
        method: String,
        url: String,
        headers: [(name: String, value: String)] = [],
        body: Body = .none,
        timeout: Duration,
        isLong: Bool = false
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.isLong = isLong
    }

    /// The bytes that a request sends.
    public enum Body: Sendable {
        /// No body at all.
        case none
        /// Bytes in memory.
        case bytes([UInt8])
        /// Bytes of a file.
        case file(FileSlice)
    }
}
