import EmbeddedPostgres
import Glibc
import Logging
import PollLoop
import Postgres
import TransferStore

/// Waits at the start for an unreachable database, and reports why.
///
/// An instance that ended instead would be restarted after longer and longer pauses, and come up
/// minutes after its database.
struct StartPatience: Sendable {
    private static let backoff = Backoff(base: .milliseconds(100), limit: .seconds(2))

    let monitor: HealthMonitor
    let logger: Logger
    /// The database, once it was there.
    var server: DatabaseServer?

    /// Repeats `body` until it succeeds.
    ///
    /// - Throws: an error that does not resolve itself, or `CancellationError`.
    func outwait<Result>(_ body: () async throws -> Result) async throws -> Result {
        var failureCount = 0
        var told: String?
        var revival = Revival()
        while true {
            do {
                let result = try await body()
                if told != nil {
                    monitor.waits(for: nil)
                    logger.notice("the database is there")
                }
                return result
            } catch  where Self.isTransient(error) {
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
                // Nobody else does so before the start is complete.
                if let server { await revival.revive(logger: logger) { try await server.revive() } }
            }
            failureCount += 1
            try await Task.sleep(for: Self.backoff.delay(failureCount: failureCount))
        }
    }

    /// Returns whether a repetition may succeed although nobody changes anything of this instance.
    ///
    /// This includes the server's errors about roles, passwords and databases: these are created,
    /// granted and changed there, often by somebody who starts at the same time.
    static func isTransient(_ error: any Error) -> Bool {
        switch error {
        case let error as PostgresError:
            error.isUnavailable || isGrantedLater(error.sqlState ?? "")
        case StoreError.unavailable: true
        case StoreError.defect(let error): isGrantedLater(error.sqlState ?? "")
        // Those workers end sooner or later: by then the orchestrator has stopped them. And the
        // owner of the schema may be about to make or to migrate it.
        case MigratorError.workersLive, MigratorError.ownerNeeded, MigratorError.schemaMissing: true
        case MigratorError.failed(_, let error): isTransient(error)
        case EmbeddedPostgresError.locked, EmbeddedPostgresError.programFailed: true
        // That server ends with the container, or the service, that has it.
        case EmbeddedPostgresError.serverSilent: true
        // There is space again once files are removed, and a file system is often remounted.
        case EmbeddedPostgresError.system(operation: _, path: _, errno: let code):
            [ENOSPC, EDQUOT, EROFS].contains(code)
        case let error as UnwritableDirectory: error.isTransient
        default: false
        }
    }

    /// Returns whether the state is one that the server's operator may still resolve.
    ///
    /// These are invalid authorization, a database that does not exist, and a missing privilege.
    private static func isGrantedLater(_ sqlState: String) -> Bool {
        sqlState.hasPrefix("28") || sqlState == "3D000" || sqlState == "42501"
    }

    private static func reason(of error: any Error) -> String {
        switch error {
        case let error as PostgresError: error.reason
        case let error as StoreError: error.reason
        case let error as MigratorError: "\(error)"
        case EmbeddedPostgresError.serverSilent:
            "a server of the private cluster is there and does not answer"
        default: "the private cluster does not start"
        }
    }
}
