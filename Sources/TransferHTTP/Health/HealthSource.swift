/// Where the health routes ask; both answers are bounded in time by the one who gives them.
package struct HealthSource: Sendable {
    package let readiness: @Sendable () async -> Readiness
    package let report: @Sendable () async -> HealthReport

    package init(
        readiness: @escaping @Sendable () async -> Readiness,
        report: @escaping @Sendable () async -> HealthReport
    ) {
        self.readiness = readiness
        self.report = report
    }
}
