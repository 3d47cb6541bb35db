import EmbeddedPostgres
import Logging
import Postgres
import TransferStore

/// Waits at the start for a database that is away, and says why.
///
/// An instance that ended instead would be started anew after longer and longer pauses, and come
/// minutes after its database.
struct StartPatience: Sendable {
    private static let pauseMin: Duration = .milliseconds(100)
    private static let pauseMax: Duration = .seconds(2)

    let monitor: HealthMonitor
    let logger: Logger

    /// Does `body` again until it succeeds.
    ///
    /// - Throws: what cannot mend itself, or `CancellationError`.
    func outwait<Result>(_ body: () async throws -> Result) async throws -> Result {
        var pause = Self.pauseMin
        var told: String?
        while true {
            do {
                let result = try await body()
                if told != nil {
                    monitor.failed(nil)
                    monitor.waits(for: nil)
                    logger.notice("the database is there")
                }
                return result
            } catch  where Self.mendsItself(error) {
                let reason = Self.reason(of: error)
                if error is MigratorError {
                    monitor.waits(for: reason)
                } else {
                    monitor.failed(reason)
                }
                if reason != told {
                    logger.warning(
                        "waits for the database",
                        metadata: ["error": "\(String(reflecting: error))"]
                    )
                }
                told = reason
            }
            try await Task.sleep(for: pause * Double.random(in: 0.75..<1))
            pause = min(pause * 2, Self.pauseMax)
        }
    }

    /// Whether the same may succeed later although nobody changes anything of this instance.
    ///
    /// What the server says of roles, passwords and databases is among it: they are made, granted
    /// and changed there, often by somebody who starts at the same time.
    static func mendsItself(_ error: any Error) -> Bool {
        switch error {
        case let error as PostgresError:
            error.isUnavailable || isGrantedLater(error.sqlState ?? "")
        case StoreError.unavailable: true
        case StoreError.defect(let error): isGrantedLater(error.sqlState ?? "")
        // They end sooner or later: by then its orchestrator has stopped them.
        case MigratorError.workersLive: true
        case EmbeddedPostgresError.locked, EmbeddedPostgresError.programFailed: true
        default: false
        }
    }

    /// Invalid authorization, a database that does not exist, a privilege that is missing.
    private static func isGrantedLater(_ sqlState: String) -> Bool {
        sqlState.hasPrefix("28") || sqlState == "3D000" || sqlState == "42501"
    }

    private static func reason(of error: any Error) -> String {
        switch error {
        case let error as PostgresError: error.reason
        case let error as StoreError: error.reason
        case let error as MigratorError: "\(error)"
        default: "the private cluster does not start"
        }
    }
}
