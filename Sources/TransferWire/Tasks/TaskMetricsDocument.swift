/// The measurements of a task, after `URLSessionTaskMetrics`.
package struct TaskMetricsDocument: Codable, Sendable {
    package let createdAt: Timestamp
    package let beganAt: Timestamp?
    package let finishedAt: Timestamp?
    /// The seconds from the creation to the end.
    package let taskInterval: Double?
    package let redirectCount: Int
    package let transactions: [Transaction]

    package init(
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
    package struct Transaction: Codable, Sendable {
        package let attempt: Int
        package let fetchStartAt: Timestamp
        package let httpStatus: Int?
        package let metrics: AttemptDocument.Metrics

        package init(
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
