/// A metric that the service offers, by the name that it has for Prometheus; `docs/metrics.md` has
/// the same list.
package enum Metric: String, CaseIterable, Sendable {
    case build = "transferd_build_info"
    case uptime = "transferd_uptime_seconds"
    case databaseUp = "transferd_database_up"
    case clockDifference = "transferd_clock_difference_seconds"
    case shortages = "transferd_shortage"
    case attempts = "transferd_attempts_total"
    case attemptDuration = "transferd_attempt_duration_seconds"
    case attemptBytes = "transferd_attempt_bytes_total"
    case attemptsRunning = "transferd_attempts_running"
    case deliveries = "transferd_deliveries_total"
    case deliveryDuration = "transferd_delivery_duration_seconds"
    case requests = "transferd_http_requests_total"
    case requestDuration = "transferd_http_request_duration_seconds"
    case connections = "transferd_http_connections"
    case poolConnections = "transferd_pool_connections"
    case poolWaiters = "transferd_pool_waiters"
    case tasks = "transferd_tasks"
    case deliveriesDue = "transferd_deliveries_due"
    case deliveryLag = "transferd_delivery_lag_seconds"
    case timerLag = "transferd_timer_lag_seconds"
    case failingSubscriptions = "transferd_subscriptions_failing"
    case workers = "transferd_workers"
    case bytesFree = "transferd_container_free_bytes"
    case bytesTotal = "transferd_container_size_bytes"
    case residentMemory = "process_resident_memory_bytes"
    case openDescriptors = "process_open_fds"
    case processorTime = "process_cpu_seconds_total"
    case startTime = "process_start_time_seconds"

    /// The type of a metric in Prometheus' text form.
    package enum Kind: String, Sendable {
        /// A number that only grows while the instance lives.
        case counter
        case gauge
        /// A distribution, as cumulative counts.
        case histogram
    }

    /// The type of the metric.
    package var kind: Kind { declaration.kind }
    /// The meaning of the metric.
    package var help: String { declaration.help }
    /// The names of the labels, each with few values.
    package var labels: [String] { declaration.labels }
}
