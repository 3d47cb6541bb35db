/// A tenant as its clients see it.
public struct TenantDocument: Codable, Sendable {
    /// The name of the tenant.
    public let name: String
    /// The maximum number of tasks that have not ended.
    public let outstandingTasksMax: Int64?
    /// The maximum number of tasks running at once, across all workers.
    public let runningTasksMax: Int?
    /// The maximum number of requests per second to each instance.
    public let requestsPerSecondMax: Int?
    /// The maximum rate of all running tasks together in bytes per second.
    public let totalBytesPerSecondMax: Int64?
    /// The maximum number of bytes of results, of bodies brought for uploads, and of kept parts.
    public let storedBytesMax: Int64?
    /// The maximum number of bytes that running tasks have to move.
    public let inFlightBytesMax: Int64?
    /// Whether its keys may use the hooks for tests.
    public let isForTests: Bool
    /// The bytes of the results of completed tasks, of bodies brought for uploads, and of kept
    /// parts.
    public let storedBytes: Int64
    /// The bytes that running tasks have to move, as far as is known.
    public let inFlightBytes: Int64
    /// The number of tasks that have not ended.
    public let outstanding: Int64
    /// The number of tasks that are kept, by state.
    public let taskCounts: [String: Int64]
    /// The bytes received by the ended tasks that are kept.
    public let bytesReceived: Int64
    /// The bytes sent by the ended tasks that are kept.
    public let bytesSent: Int64
    /// The pauses that hold for the tenant, from the oldest.
    public let pauses: [PauseDocument]
    /// The time at which the tenant was created.
    public let createdAt: Timestamp

    /// Creates the value from its parts.
    public init(
        name: String,
        outstandingTasksMax: Int64?,
        runningTasksMax: Int?,
        requestsPerSecondMax: Int?,
        totalBytesPerSecondMax: Int64?,
        storedBytesMax: Int64? = nil,
        inFlightBytesMax: Int64? = nil,
        isForTests: Bool,
        storedBytes: Int64,
        inFlightBytes: Int64,
        outstanding: Int64,
        taskCounts: [String: Int64],
        bytesReceived: Int64,
        bytesSent: Int64,
        pauses: [PauseDocument],
        createdAt: Timestamp
    ) {
        self.name = name
        self.outstandingTasksMax = outstandingTasksMax
        self.runningTasksMax = runningTasksMax
        self.requestsPerSecondMax = requestsPerSecondMax
        self.totalBytesPerSecondMax = totalBytesPerSecondMax
        self.storedBytesMax = storedBytesMax
        self.inFlightBytesMax = inFlightBytesMax
        self.isForTests = isForTests
        self.storedBytes = storedBytes
        self.inFlightBytes = inFlightBytes
        self.outstanding = outstanding
        self.taskCounts = taskCounts
        self.bytesReceived = bytesReceived
        self.bytesSent = bytesSent
        self.pauses = pauses
        self.createdAt = createdAt
    }

    private enum CodingKeys: String, CodingKey {
        case name, outstanding, pauses
        case outstandingTasksMax = "outstanding_tasks_max"
        case runningTasksMax = "running_tasks_max"
        case requestsPerSecondMax = "requests_per_second_max"
        case totalBytesPerSecondMax = "total_bytes_per_second_max"
        case storedBytesMax = "stored_bytes_max"
        case inFlightBytesMax = "in_flight_bytes_max"
        case isForTests = "is_for_tests"
        case storedBytes = "stored_bytes"
        case inFlightBytes = "in_flight_bytes"
        case taskCounts = "task_counts"
        case bytesReceived = "bytes_received"
        case bytesSent = "bytes_sent"
        case createdAt = "created_at"
    }
}
