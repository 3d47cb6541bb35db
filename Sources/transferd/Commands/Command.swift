import Foundation
import Glibc
import Logging
import TransferStore

/// Code shared by all commands except `serve`.
enum Command {
    /// The number of rows that a command lists with one statement.
    static let pageMax = 200

    /// Why a command did nothing although its arguments were right.
    struct Refusal: Error, CustomStringConvertible {
        let description: String

        init(_ description: String) { self.description = description }

        /// The refusal of a name that no tenant has.
        static let unknownTenant = Refusal("There is no tenant of that name.")
    }

    /// Returns a logger for warnings and errors only: the commands' output is the result.
    static func logger() -> Logger {
        var logger = Logger(label: "transferd") { JSONLogHandler(label: $0, level: .warning) }
        logger.logLevel = .warning
        return logger
    }

    /// Runs `body` with the database, and leaves a private cluster as it was found.
    ///
    /// Without `mayCreate`, a private cluster has to exist: nothing is made in a mistaken
    /// directory.
    static func withDatabase<Result>(
        _ options: DatabaseOptions,
        mayCreate: Bool,
        logger: Logger,
        _ body: (DatabaseServer) async throws -> Result
    ) async throws -> Result {
        var reader = SettingsReader(environment: ProcessInfo.processInfo.environment)
        let location = DatabaseLocation(options, &reader)
        if !reader.problems.isEmpty { throw ConfigurationError(problems: reader.problems) }
        let database = try await DatabaseServer.open(
            location,
            mayCreate: mayCreate,
            logger: logger
        )
        do {
            let result = try await body(database)
            await database.close()
            return result
        } catch {
            await database.close()
            throw error
        }
    }

    /// Runs `body`, whose first change is recorded in the audit log as the command `words` about
    /// `object`, by the user who runs this program.
    static func audited<Value>(
        _ words: String,
        about object: String,
        in database: Database,
        _ body: () async throws -> Value
    ) async throws -> Value {
        try await AuditStore(database).begin()
        return try await AuditSlot(entry(words, about: object)).recording(body)
    }

    /// Records the command `words` about `object`, whose changes the database does not record with
    /// themselves.
    static func record(
        _ words: String,
        about object: String,
        in database: Database
    ) async throws {
        let audit = AuditStore(database)
        try await audit.begin()
        try await audit.record([entry(words, about: object)])
    }

    private static func entry(_ words: String, about object: String) -> AuditEntry {
        AuditEntry(actor: "user \(geteuid())", action: "transferd \(words)", object: object)
    }

    /// Runs `body` with the migrated database as the stores see it.
    ///
    /// With `mayCreate`, a missing private cluster is made.
    static func withStore(
        _ options: DatabaseOptions,
        mayCreate: Bool = false,
        settings: (DatabaseServer) throws -> StoreSettings = { _ in StoreSettings() },
        _ body: (Database) async throws -> Void
    ) async throws {
        let logger = logger()
        try await withDatabase(options, mayCreate: mayCreate, logger: logger) { server in
            try await server.migrate(logger: logger)
            try await server.withDatabase(
                by: server.configuration,
                settings: settings(server),
                body
            )
        }
    }
}
