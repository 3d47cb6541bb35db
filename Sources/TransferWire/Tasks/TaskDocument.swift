/// A task as clients see it; what has no value is absent.
package struct TaskDocument: Codable, Sendable {
    package var id: String
    package var client: String
    package var sessionIdentifier: String
    package var kind: String
    package var method: String
    package var state: String
    package var urlSessionState: String
    package var url: String
    package var clientPersistedString: String?
    package var earliestBeginAt: Timestamp?
    package var priority: Double
    package var destination: Destination?
    package var expectedSize: Int64?
    /// Hexadecimal by algorithm.
    package var checksums: [String: String]?
    package var attempt: Int
    package var countOfBytesReceived: Int64
    /// -1 while unknown, as `NSURLSessionTransferSizeUnknown`.
    package var countOfBytesExpectedToReceive: Int64
    package var countOfBytesSent: Int64
    /// -1 while unknown.
    package var countOfBytesExpectedToSend: Int64
    /// The task's own limit.
    package var bytesPerSecondMax: Int64?
    /// Of the running attempt in the last seconds.
    package var bytesPerSecond: Int64?
    /// Seconds until all bytes are there, if they go on as until now.
    package var estimatedTimeRemaining: Double?
    /// Why the task does not run, for a person.
    package var reason: String?
    package var until: Timestamp?
    package var error: Failure?
    package var response: Response?
    /// The path of the task's bytes, when it is completed.
    package var content: String?
    /// When the completed task's bytes were found to be gone; there is no `content` then.
    package var contentGoneAt: Timestamp?
    /// What the cancelled task left for another one; told once.
    package var resumeData: String?
    package var createdAt: Timestamp
    package var finishedAt: Timestamp?
    /// Until when at least the ended task is kept.
    package var expiresAt: Timestamp?

    package init(
        id: String,
        client: String,
        sessionIdentifier: String,
        kind: String,
        method: String,
        state: String,
        urlSessionState: String,
        url: String,
        priority: Double,
        attempt: Int,
        countOfBytesReceived: Int64,
        countOfBytesExpectedToReceive: Int64,
        countOfBytesSent: Int64,
        countOfBytesExpectedToSend: Int64,
        createdAt: Timestamp
    ) {
        self.id = id
        self.client = client
        self.sessionIdentifier = sessionIdentifier
        self.kind = kind
        self.method = method
        self.state = state
        self.urlSessionState = urlSessionState
        self.url = url
        self.priority = priority
        self.attempt = attempt
        self.countOfBytesReceived = countOfBytesReceived
        self.countOfBytesExpectedToReceive = countOfBytesExpectedToReceive
        self.countOfBytesSent = countOfBytesSent
        self.countOfBytesExpectedToSend = countOfBytesExpectedToSend
        self.createdAt = createdAt
    }

    private enum CodingKeys: String, CodingKey {
        case id, client, kind, method, state, url, priority, destination, attempt, reason, until,
            error,
            response
        case content, checksums
        case expectedSize = "expected_size"
        case sessionIdentifier = "session_identifier"
        case urlSessionState = "url_session_state"
        case clientPersistedString = "client_persisted_string"
        case earliestBeginAt = "earliest_begin_at"
        case contentGoneAt = "content_gone_at"
        case resumeData = "resume_data"
        case countOfBytesReceived = "count_of_bytes_received"
        case countOfBytesExpectedToReceive = "count_of_bytes_expected_to_receive"
        case countOfBytesSent = "count_of_bytes_sent"
        case countOfBytesExpectedToSend = "count_of_bytes_expected_to_send"
        case bytesPerSecondMax = "bytes_per_second_max"
        case bytesPerSecond = "bytes_per_second"
        case estimatedTimeRemaining = "estimated_time_remaining"
        case createdAt = "created_at"
        case finishedAt = "finished_at"
        case expiresAt = "expires_at"
    }

    /// Where the result goes in the tenant's container.
    package struct Destination: Codable, Sendable {
        package let path: String
        package let overwrite: Bool

        package init(path: String, overwrite: Bool) {
            self.path = path
            self.overwrite = overwrite
        }
    }

    /// The newest failure: the last attempt's while the task waits, final once it has failed.
    package struct Failure: Equatable, Codable, Sendable {
        package let domain: String
        package let code: String
        package let message: String
        package let httpStatus: Int?
        package let isRetryable: Bool
        /// How the origin of a 401 lets itself be shown who asks.
        package var challenges: [Challenge]?
        /// The begin of the answer's body, in base64.
        package var responseBody: String?

        package struct Challenge: Equatable, Codable, Sendable {
            package let scheme: String
            package let realm: String?

            package init(scheme: String, realm: String?) {
                self.scheme = scheme
                self.realm = realm
            }
        }

        package init(
            domain: String,
            code: String,
            message: String,
            httpStatus: Int?,
            isRetryable: Bool
        ) {
            self.domain = domain
            self.code = code
            self.message = message
            self.httpStatus = httpStatus
            self.isRetryable = isRetryable
        }

        private enum CodingKeys: String, CodingKey {
            case domain, code, message, challenges
            case httpStatus = "http_status"
            case isRetryable = "is_retryable"
            case responseBody = "response_body"
        }
    }

    /// What the origin answered.
    package struct Response: Codable, Sendable {
        package let status: Int
        package let contentType: String?
        package let etag: String?
        package let isLengthVerified: Bool
        package let suggestedFilename: String?
        /// How the text of the body is encoded, as the origin says; in lower case.
        package let charset: String?
        /// All of the answer to a data task, in base64 of the very bytes that came.
        package var body: String?

        package init(
            status: Int,
            contentType: String?,
            charset: String?,
            etag: String?,
            isLengthVerified: Bool,
            suggestedFilename: String?
        ) {
            self.suggestedFilename = suggestedFilename
            self.status = status
            self.charset = charset
            self.contentType = contentType
            self.etag = etag
            self.isLengthVerified = isLengthVerified
        }

        private enum CodingKeys: String, CodingKey {
            case status, etag, charset, body
            case contentType = "content_type"
            case isLengthVerified = "is_length_verified"
            case suggestedFilename = "suggested_filename"
        }
    }
}
