/// A task as clients see it; a member without a value is absent.
public struct TaskDocument: Codable, Sendable {
    /// The identifier of the task.
    public var id: String
    /// The client that owns the session.
    public var client: String
    /// The identifier that the client gave the session.
    public var sessionIdentifier: String
    /// The kind: `download`, `upload` or `data`.
    public var kind: String
    /// The method of the request.
    public var method: String
    /// The state of the task.
    public var state: String
    /// The closest state of `URLSessionTask`: `suspended`, `running` or `completed`.
    public var urlSessionState: String
    /// The URL of the request.
    public var url: String
    /// The string that the client gave the task.
    public var clientPersistedString: String?
    /// The time before which the task does not begin.
    public var earliestBeginAt: Timestamp?
    /// The priority from 0 to 1 among tasks for the same host.
    public var priority: Double
    /// The destination of the result.
    public var destination: Destination?
    /// The exact size of the file in bytes that the client expects.
    public var expectedSize: Int64?
    /// The checksums in hexadecimal, by algorithm.
    public var checksums: [String: String]?
    /// The further URLs of the file, the first to be asked first.
    public var mirrors: [String]?
    /// The number of attempts begun so far.
    public var attempt: Int
    /// The number of bytes received so far.
    public var countOfBytesReceived: Int64
    /// The expected number of bytes, -1 while unknown, as `NSURLSessionTransferSizeUnknown`.
    public var countOfBytesExpectedToReceive: Int64
    /// The number of bytes sent so far.
    public var countOfBytesSent: Int64
    /// The expected number of bytes, -1 while unknown.
    public var countOfBytesExpectedToSend: Int64
    /// The task's own limit of bytes per second.
    public var bytesPerSecondMax: Int64?
    /// The rate of the running attempt in the last seconds.
    public var bytesPerSecond: Int64?
    /// The seconds until all bytes have arrived, at the current rate.
    public var estimatedTimeRemaining: Double?
    /// The reason why the task does not run, as text for people.
    public var reason: String?
    /// What a queued task waits for; only where a single task is read.
    public var waitsFor: String?
    /// The time until which the task waits.
    public var until: Timestamp?
    /// The newest failure.
    public var error: Failure?
    /// The origin's response to a completed task.
    public var response: Response?
    /// The path of the bytes of a completed task.
    public var content: String?
    /// The time at which the completed task's bytes were found to be gone; there is no `content`
    /// then.
    public var contentGoneAt: Timestamp?
    /// The data that the cancelled task left for another task to resume, given once.
    public var resumeData: String?
    /// What the client asked for; only where a single task is read.
    public var originalRequest: OriginalRequestDocument?
    /// What holds for the task; only where a single task is read.
    public var effectiveConfiguration: EffectiveConfigurationDocument?
    /// The time at which the task was created.
    public var createdAt: Timestamp
    /// The time at which the task ended.
    public var finishedAt: Timestamp?
    /// The time until which the ended task is kept at least.
    public var expiresAt: Timestamp?

    /// Creates the value from its parts.
    public init(
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
        case content, checksums, mirrors
        case expectedSize = "expected_size"
        case waitsFor = "waits_for"
        case sessionIdentifier = "session_identifier"
        case urlSessionState = "url_session_state"
        case clientPersistedString = "client_persisted_string"
        case earliestBeginAt = "earliest_begin_at"
        case contentGoneAt = "content_gone_at"
        case resumeData = "resume_data"
        case originalRequest = "original_request"
        case effectiveConfiguration = "effective_configuration"
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

    /// The destination of the result in the tenant's container.
    public struct Destination: Codable, Sendable {
        /// The relative path in the container.
        public let path: String
        /// Whether an existing file is replaced.
        public let overwrite: Bool

        /// Creates the value from its parts.
        public init(path: String, overwrite: Bool) {
            self.path = path
            self.overwrite = overwrite
        }
    }

    /// The newest failure: that of the last attempt while the task waits, final once the task has
    /// failed.
    public struct Failure: Equatable, Codable, Sendable {
        /// The domain: `network`, `http`, `storage` or `service`.
        public let domain: String
        /// The stable code of the failure.
        public let code: String
        /// The failure as text for people.
        public let message: String
        /// The status of the origin's response.
        public let httpStatus: Int?
        /// Whether the task may succeed in another attempt.
        public let isRetryable: Bool
        /// The authentication methods that the origin of a 401 offers.
        public var challenges: [Challenge]?
        /// The beginning of the answer's body, in base64.
        public var responseBody: String?

        /// An authentication challenge of an origin.
        public struct Challenge: Equatable, Codable, Sendable {
            /// The authentication scheme.
            public let scheme: String
            /// The realm that the origin named.
            public let realm: String?

            /// Creates the value from its parts.
            public init(scheme: String, realm: String?) {
                self.scheme = scheme
                self.realm = realm
            }
        }

        /// Creates the value from its parts.
        public init(
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

    /// The answer of the origin.
    public struct Response: Codable, Sendable {
        /// The status of the response.
        public let status: Int
        /// The media type of the content.
        public let contentType: String?
        /// The codings that the content still has, such as `gzip`.
        public let contentEncoding: String?
        /// The entity tag of the content.
        public let etag: String?
        /// Whether the length was checked against one announced by the origin.
        public let isLengthVerified: Bool
        /// The file name suggested by the response or its URL, made safe.
        public let suggestedFilename: String?
        /// The encoding of text in the body according to the origin, in lower case.
        public let charset: String?
        /// The URL that responded, if redirects led to another than the task's.
        public let finalURL: String?
        /// The checksums of the content that have been verified, in hexadecimal, by algorithm.
        public let checksums: [String: String]?
        /// The fields of the response that are kept, with their names in lower case.
        public let headers: [String: String]?
        /// True if only the beginning of the body is kept, as of a long response to an upload.
        public let isTruncated: Bool?
        /// The whole answer to a data task, in base64 of exactly the bytes received.
        public var body: String?

        /// Creates the value from its parts.
        public init(
            status: Int,
            contentType: String?,
            contentEncoding: String?,
            charset: String?,
            etag: String?,
            isLengthVerified: Bool,
            isTruncated: Bool?,
            suggestedFilename: String?,
            finalURL: String?,
            checksums: [String: String]?,
            headers: [String: String]?
        ) {
            self.suggestedFilename = suggestedFilename
            self.contentEncoding = contentEncoding
            self.finalURL = finalURL
            self.isTruncated = isTruncated
            self.checksums = checksums
            self.headers = headers
            self.status = status
            self.charset = charset
            self.contentType = contentType
            self.etag = etag
            self.isLengthVerified = isLengthVerified
        }

        private enum CodingKeys: String, CodingKey {
            case status, etag, charset, body, checksums, headers
            case contentType = "content_type"
            case contentEncoding = "content_encoding"
            case finalURL = "final_url"
            case isLengthVerified = "is_length_verified"
            case isTruncated = "is_truncated"
            case suggestedFilename = "suggested_filename"
        }
    }
}
