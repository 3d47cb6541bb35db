import Foundation
import Glibc
import Logging
import Postgres
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
    /// Without `mayCreate`, a private cluster has to exist: nothing is made in a mistaken directory.
    static func withDatabase(
        _ options: DatabaseOptions,
        mayCreate: Bool = true,
        logger: Logger,
        _ body: (DatabaseServer) async throws -> Void
    ) async throws {
        var reader = SettingsReader(environment: ProcessInfo.processInfo.environment)
        let location = DatabaseLocation(options, &reader)
        if !reader.problems.isEmpty { throw ConfigurationError(problems: reader.problems) }
        let database = try await DatabaseServer.open(
            location,
            mayCreate: mayCreate,
            logger: logger
        )
        do {
            try await body(database)
        } catch {
            await database.close()
            throw error
        }
        await database.close()
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
    /// With `secrets`, it opens what is sealed by the keys in that file, or in the data directory's.
    /// With `mayCreate`, a missing private cluster is made.
    static func withStore(
        _ options: DatabaseOptions,
        mayCreate: Bool = false,
        secrets keyFile: String?? = nil,
        _ body: (Database) async throws -> Void
    ) async throws {
        let logger = logger()
        try await withDatabase(options, mayCreate: mayCreate, logger: logger) { server in
            try await server.migrate(logger: logger)
            let pool = ConnectionPool(
                configuration: server.configuration,
                connectionsMax: 1,
                loop: server.loop
            )
            do {
                var settings = StoreSettings()
                if let keyFile {
                    let path = keyFile ?? server.location.secretsKeyFile
                    settings.secrets = try SecretsKeyFile(at: path).box(logger: logger)
                }
                try await body(Database(pool: pool, settings: settings))
            } catch {
                await pool.close()
                throw error
            }
            await pool.close()
        }
    }
}
