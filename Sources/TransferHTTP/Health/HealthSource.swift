package import TransferMetrics

/// The source of health and metrics for their routes; the provider of the answers bounds their
/// time.
package struct HealthSource: Sendable {
    /// Returns whether the service can accept work now.
    package let readiness: @Sendable () async -> Readiness
    /// Returns the health of the instance.
    package let report: @Sendable () async -> HealthReport
    /// Returns the metrics of the instance; nil if it does not offer them.
    package let metrics: @Sendable () async -> [MetricSample]?

    package init(
        readiness: @escaping @Sendable () async -> Readiness,
        report: @escaping @Sendable () async -> HealthReport,
        metrics: @escaping @Sendable () async -> [MetricSample]?
    ) {
        self.readiness = readiness
        self.report = report
        self.metrics = metrics
    }
}
