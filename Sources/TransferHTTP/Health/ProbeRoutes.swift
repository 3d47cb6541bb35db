import HTTPTypes
import Hummingbird
import NIOCore
import TransferMetrics
import TransferModel
import TransferWire

/// The routes of `/livez`, `/readyz`, `/health`, `/metrics` and `/openapi.yaml`, for machines that
/// have no key.
struct ProbeRoutes: Sendable {
    /// The paths that are answered without a key; every other path needs one.
    static let paths: Set<String> = ["/livez", "/readyz", "/health", "/metrics", "/openapi.yaml"]

    /// The paths that are also answered when there are too many connections.
    static let probes: Set<String> = ["/livez", "/readyz", "/health"]

    let health: HealthSource
    /// The OpenAPI document; nil on an instance without the API that it describes.
    let openAPIDocument: [UInt8]?

    func add(to router: APIRouter) {
        router.get(withoutKey: "/livez") { _, _ in try Answer.json(ProbeDocument(status: "pass")) }
        router.get(withoutKey: "/readyz") { _, _ in try await readiness() }
        router.get(withoutKey: "/health") { _, _ in try await report() }
        router.get(withoutKey: "/metrics") { _, _ in
            guard let samples = await health.metrics() else { throw Problem(.unknownRoute) }
            return Self.answer(
                ByteBuffer(string: MetricsText.text(samples)),
                type: MetricsText.mediaType
            )
        }
        // All answers share one buffer.
        let document = openAPIDocument.map { ByteBuffer(bytes: $0) }
        router.get(withoutKey: "/openapi.yaml") { _, _ in
            guard let document else { throw Problem.withoutAPI }
            return Self.answer(document, type: "application/yaml")
        }
    }

    func readiness() async throws -> Answer {
        switch await health.readiness() {
        case .ready: try .json(ProbeDocument(status: "pass"))
        case .notReady(let reason):
            try .json(
                ProbeDocument(status: "fail", reason: reason),
                status: .serviceUnavailable
            )
        }
    }

    func report() async throws -> Answer {
        let report = await health.report()
        let status = report.isDatabaseUp ? "pass" : "fail"
        let ahead = report.databaseClockAhead.map { Int($0.rounded()) }
        let clock = Self.clock(report.clockDifference)
        let isWarned =
            report.isDatabaseUp
            && (!report.shortages.isEmpty || ahead != nil || report.pauses.isEverythingPaused
                || report.isDatabaseFull || report.isDatabaseFailing || clock.status != "pass")
        let document = HealthDocument(
            status: isWarned ? "warn" : status,
            version: report.version,
            libcurl: report.libcurl,
            roles: InstanceRole.allCases.filter(report.roles.contains).map(\.rawValue),
            database: HealthDocument.Component(
                status: report.isDatabaseFull || report.isDatabaseFailing ? "fail" : status,
                reason: report.databaseReason
            ),
            databaseClock: HealthDocument.Component(
                status: ahead == nil ? "pass" : "fail",
                reason: ahead.map { "set ahead by \($0) s; what is due by that alone waits" }
            ),
            clock: clock,
            signals: HealthDocument.Component(status: report.signals.rawValue),
            shortages: report.shortages.map(\.rawValue),
            pauses: HealthDocument.Pauses(
                everything: report.pauses.isEverythingPaused,
                tenants: report.pauses.tenants,
                hosts: report.pauses.hosts
            ),
            workers: report.workers,
            uptimeSeconds: Int(report.uptime.components.seconds)
        )
        return try .json(document, status: report.isDatabaseUp ? .ok : .serviceUnavailable)
    }

    private static func clock(_ difference: Double?) -> HealthDocument.InstanceClock {
        let seconds = difference.map { Int($0.rounded()) }
        guard let difference, abs(difference) > HealthReport.clockDifferenceMax else {
            return HealthDocument.InstanceClock(status: "pass", seconds: seconds)
        }
        return HealthDocument.InstanceClock(
            status: "warn",
            seconds: seconds,
            reason: difference > 0
                ? "ahead of the database's clock" : "behind the database's clock"
        )
    }

    private static func answer(_ document: ByteBuffer, type: String) -> Response {
        Response(
            status: .ok,
            headers: [.contentType: type],
            body: ResponseBody(byteBuffer: document)
        )
    }
}
