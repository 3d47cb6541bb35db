/// An ended attempt of a task, as clients see it; a member without a value is absent.
package struct AttemptDocument: Codable, Sendable {
    package let number: Int
    package let outcome: String
    package let startedAt: Timestamp
    package let endedAt: Timestamp
    package let countOfBytesReceived: Int64
    package let countOfBytesSent: Int64
    package let resumedAtOffset: Int64?
    package let httpStatus: Int?
    package let error: TaskDocument.Failure?
    package let metrics: Metrics?

    package init(
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
    package struct Metrics: Codable, Sendable {
        package var redirectCount: Int
        package var countOfConnections: Int
        package var domainLookupEnd: Double?
        package var connectEnd: Double?
        package var secureConnectionEnd: Double?
        package var requestStart: Double?
        package var requestEnd: Double?
        package var responseStart: Double?
        package var responseEnd: Double?
        package var isReusedConnection: Bool
        package var networkProtocolName: String?
        package var remoteAddress: String?
        package var remotePort: Int?
        package var localAddress: String?
        package var localPort: Int?
        package var countOfRequestHeaderBytesSent: Int64 = 0
        package var countOfRequestBodyBytesSent: Int64 = 0
        package var countOfResponseHeaderBytesReceived: Int64 = 0
        package var countOfResponseBodyBytesReceived: Int64 = 0

        package init(redirectCount: Int, countOfConnections: Int, isReusedConnection: Bool) {
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
