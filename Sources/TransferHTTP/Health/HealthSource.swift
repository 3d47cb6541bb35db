/// The source of health for the health routes; the provider of both answers bounds their time.
package struct HealthSource: Sendable {
    /// Returns whether the service can accept work now.
    package let readiness: @Sendable () async -> Readiness
    /// Returns the health of the instance.
    package let report: @Sendable () async -> HealthReport

    package init(
        readiness: @escaping @Sendable () async -> Readiness,
        report: @escaping @Sendable () async -> HealthReport
    ) {
        self.readiness = readiness
        self.report = report
    }
}
