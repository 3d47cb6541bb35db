/// The measurements of a task, after `URLSessionTaskMetrics`.
public struct TaskMetricsDocument: Codable, Sendable {
    /// The time at which the task was created.
    public let createdAt: Timestamp
    /// The time at which the first attempt began; absent before that.
    public let beganAt: Timestamp?
    /// The time at which the task ended; absent until then.
    public let finishedAt: Timestamp?
    /// The seconds from the creation to the end.
    public let taskInterval: Double?
    /// The number of redirects followed by the listed attempts.
    public let redirectCount: Int
    /// The last requests of the attempts, in the order in which these began.
    public let transactions: [Transaction]

    /// Creates the value from its parts.
    public init(
        createdAt: Timestamp,
        beganAt: Timestamp?,
        finishedAt: Timestamp?,
        taskInterval: Double?,
        redirectCount: Int,
        transactions: [Transaction]
    ) {
        self.createdAt = createdAt
        self.beganAt = beganAt
        self.finishedAt = finishedAt
        self.taskInterval = taskInterval
        self.redirectCount = redirectCount
        self.transactions = transactions
    }

    private enum CodingKeys: String, CodingKey {
        case transactions
        case createdAt = "created_at"
        case beganAt = "began_at"
        case finishedAt = "finished_at"
        case taskInterval = "task_interval"
        case redirectCount = "redirect_count"
    }

    /// The last request of an attempt.
    public struct Transaction: Codable, Sendable {
        /// The number of the attempt.
        public let attempt: Int
        /// The time at which the request began.
        public let fetchStartAt: Timestamp
        /// The status of the response.
        public let httpStatus: Int?
        /// The measurements of the request.
        public let metrics: AttemptDocument.Metrics

        /// Creates the value from its parts.
        public init(
            attempt: Int,
            fetchStartAt: Timestamp,
            httpStatus: Int?,
            metrics: AttemptDocument.Metrics
        ) {
            self.attempt = attempt
            self.fetchStartAt = fetchStartAt
            self.httpStatus = httpStatus
            self.metrics = metrics
        }

        private enum CodingKeys: String, CodingKey {
            case attempt, metrics
            case fetchStartAt = "fetch_start_at"
            case httpStatus = "http_status"
        }
    }
}
