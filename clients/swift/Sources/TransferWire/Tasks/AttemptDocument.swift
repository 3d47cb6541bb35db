/// An ended attempt of a task, as clients see it; a member without a value is absent.
public struct AttemptDocument: Codable, Sendable {
    /// The number of the attempt, from 1; an attempt that does not count shares it with the next.
    public let number: Int
    /// The outcome, such as `completed`, `failed` or `retried`.
    public let outcome: String
    /// The time at which the attempt started.
    public let startedAt: Timestamp
    /// The time at which the attempt ended.
    public let endedAt: Timestamp
    /// The number of bytes that this attempt received.
    public let countOfBytesReceived: Int64
    /// The number of bytes that this attempt sent.
    public let countOfBytesSent: Int64
    /// The number of bytes already present when the origin sent only the remaining ones.
    public let resumedAtOffset: Int64?
    /// The status of the origin's response.
    public let httpStatus: Int?
    /// The failure of the attempt.
    public let error: TaskDocument.Failure?
    /// The measurements of the attempt's last request.
    public let metrics: Metrics?

    /// Creates the value from its parts.
    public init(
        number: Int,
        outcome: String,
        startedAt: Timestamp,
        endedAt: Timestamp,
        countOfBytesReceived: Int64,
        countOfBytesSent: Int64,
        resumedAtOffset: Int64?,
        httpStatus: Int?,
        error: TaskDocument.Failure?,
        metrics: Metrics?
    ) {
        self.number = number
        self.outcome = outcome
        self.startedAt = startedAt
        self.endedAt = endedAt
        self.countOfBytesReceived = countOfBytesReceived
        self.countOfBytesSent = countOfBytesSent
        self.resumedAtOffset = resumedAtOffset
        self.httpStatus = httpStatus
        self.error = error
        self.metrics = metrics
    }

    private enum CodingKeys: String, CodingKey {
        case number, outcome, error, metrics
        case startedAt = "started_at"
        case endedAt = "ended_at"
        case countOfBytesReceived = "count_of_bytes_received"
        case countOfBytesSent = "count_of_bytes_sent"
        case resumedAtOffset = "resumed_at_offset"
        case httpStatus = "http_status"
    }

    /// The measurements of the attempt's last request, in seconds from its start.
    public struct Metrics: Codable, Sendable {
        /// The number of redirects before this request.
        public var redirectCount: Int
        /// The maximum number of connections that fetched the file at once.
        public var countOfConnections: Int
        /// The seconds until the host name was resolved.
        public var domainLookupEnd: Double?
        /// The seconds until the connection was established.
        public var connectEnd: Double?
        /// The seconds until the TLS handshake was completed.
        public var secureConnectionEnd: Double?
        /// The seconds until the request began.
        public var requestStart: Double?
        /// The seconds until the request was sent.
        public var requestEnd: Double?
        /// The seconds until the response began.
        public var responseStart: Double?
        /// The seconds until the response ended.
        public var responseEnd: Double?
        /// Whether the request used an existing connection.
        public var isReusedConnection: Bool
        /// The protocol as in ALPN, for example `http/1.1`.
        public var networkProtocolName: String?
        /// The IP address of the origin.
        public var remoteAddress: String?
        /// The port of the origin.
        public var remotePort: Int?
        /// The IP address of this end.
        public var localAddress: String?
        /// The port of this end.
        public var localPort: Int?
        /// The bytes of the request's head, 0 if the linked libcurl does not count them.
        public var countOfRequestHeaderBytesSent: Int64 = 0
        /// The bytes of the request's body.
        public var countOfRequestBodyBytesSent: Int64 = 0
        /// The bytes of all response heads and trailers, including informational ones.
        public var countOfResponseHeaderBytesReceived: Int64 = 0
        /// The bytes of the response's body.
        public var countOfResponseBodyBytesReceived: Int64 = 0

        /// Creates the value from its parts.
        public init(redirectCount: Int, countOfConnections: Int, isReusedConnection: Bool) {
            self.redirectCount = redirectCount
            self.countOfConnections = countOfConnections
            self.isReusedConnection = isReusedConnection
        }

        private enum CodingKeys: String, CodingKey {
            case redirectCount = "redirect_count"
            case countOfConnections = "count_of_connections"
            case domainLookupEnd = "domain_lookup_end"
            case connectEnd = "connect_end"
            case secureConnectionEnd = "secure_connection_end"
            case responseStart = "response_start"
            case responseEnd = "response_end"
            case isReusedConnection = "is_reused_connection"
            case networkProtocolName = "network_protocol_name"
            case remoteAddress = "remote_address"
            case remotePort = "remote_port"
            case localAddress = "local_address"
            case localPort = "local_port"
            case requestStart = "request_start"
            case requestEnd = "request_end"
            case countOfRequestHeaderBytesSent = "count_of_request_header_bytes_sent"
            case countOfRequestBodyBytesSent = "count_of_request_body_bytes_sent"
            case countOfResponseHeaderBytesReceived = "count_of_response_header_bytes_received"
            case countOfResponseBodyBytesReceived = "count_of_response_body_bytes_received"
        }
    }
}
