import Postgres
import TransferStore

/// The reasons why a database that answers cannot be used.
enum UnfitDatabase: Error, CustomStringConvertible {
    /// A commit has not ended within this time.
    case commitsWait(Duration)
    /// Sessions of this role are read-only by a setting, with its source in `pg_settings`, and not
    /// because the server is a standby.
    case readOnly(role: String, source: String)

    var description: String {
        switch self {
        case .commitsWait(let limit):
            """
            a commit did not finish within \(limit.components.seconds) s, probably because it \
            waits for a synchronous standby: bring that back, or take it out of \
            synchronous_standby_names
            """
        case .readOnly(let role, let source):
            """
            the server is no standby, and sessions of the role \(role) are read-only: \
            default_transaction_read_only is on (\(Self.place(source, role))); switch it off
            """
        }
    }

    /// Returns where a setting was made, for its source (PostgreSQL manual, view `pg_settings`).
    private static func place(_ source: String, _ role: String) -> String {
        switch source {
        case "user": "ALTER ROLE \(role) SET"
        case "database": "ALTER DATABASE … SET"
        case "database user": "ALTER ROLE \(role) IN DATABASE … SET"
        case "client": "the URL, PGOPTIONS or a pooler"
        default: source
        }
    }
}

extension DatabaseServer {
    /// The longest time that ``checkCommits()`` waits.
    private static let commitWaitMax: Duration = .seconds(5)

    /// Throws ``UnfitDatabase`` unless a commit ends in time.
    func checkCommits() async throws {
        var configuration = ownerConfiguration
        configuration.queryDeadline = Self.commitWaitMax
        do {
            try await withConnection(configuration) { try await ServerFitness.commit(over: $0) }
        } catch let error as PostgresError where error.code == .deadlineExceeded {
            throw UnfitDatabase.commitsWait(Self.commitWaitMax)
        }
    }

    /// Returns why sessions are read-only on a server that is no standby; nil if they are not, or
    /// if it cannot be told.
    func readOnlySetting() async -> UnfitDatabase? {
        var configuration = ownerConfiguration
        configuration.takesReadOnlyPrimary = true
        let setting = try? await withConnection(configuration) {
            try await ServerFitness.readOnlySetting(over: $0)
        }
        return setting.flatMap { $0 }.map { .readOnly(role: $0.role, source: $0.source) }
    }
}
