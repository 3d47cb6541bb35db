import Crypto
import Foundation
package import Logging
package import Postgres

/// Brings a database's schema to what this version expects, and back.
///
/// Each migration is one transaction together with its entry in `schema_migration`, under an
/// advisory lock: of instances that start at once one migrates and the others wait.
package struct Migrator: Sendable {
    /// One step of the schema, as found in the folder of migrations.
    package struct Migration: Sendable {
        /// Counts from 1 without gaps; the first four digits of the file name.
        package let number: Int
        /// The rest of the file name.
        package let name: String
        let up: String
        let down: String
        let checksum: [UInt8]
    }

    private let migrations: [Migration]
    private let logger: Logger

    /// Any number that nobody else uses in this database: "trfd" in ASCII.
    ///
    /// The second half of the
    /// lock is the schema's name, for each schema has migrations of its own.
    private static let lockKey: Int32 = 0x7472_6664
    /// Between two looks at whether another instance has finished.
    private static let lockInterval: Duration = .milliseconds(100)

    /// - Throws: ``MigratorError`` when the folder is missing or not a sequence of pairs
    ///   `0001_name.up.sql`, `0001_name.down.sql`.
    package init(folder: String, logger: Logger) throws(MigratorError) {
        migrations = try Self.read(folder: folder)
        self.logger = logger
    }

    /// Applies what is missing.
    ///
    /// - Returns: how many migrations were applied.
    @discardableResult
    package func migrate(_ connection: Connection) async throws -> Int {
        try await withLock(connection) {
            let applied = try await applied(connection)
            try check(applied)
            for migration in migrations.dropFirst(applied.count) {
                try await run(
                    migration.up,
                    with: """
                        INSERT INTO schema_migration (number, name, checksum)
                        VALUES (\(migration.number), '\(migration.name)',
                            '\\x\(Self.hexadecimal(migration.checksum))')
                        """,
                    on: connection
                )
                logger.info("migration applied", metadata: ["migration": "\(migration.name)"])
            }
            return migrations.count - applied.count
        }
    }

    /// Takes back the newest `count` migrations, with the data they hold.
    package func revert(_ count: Int, _ connection: Connection) async throws {
        try await withLock(connection) {
            let applied = try await applied(connection)
            try check(applied)
            for migration in migrations.prefix(applied.count).suffix(count).reversed() {
                try await run(
                    migration.down,
                    with: "DELETE FROM schema_migration WHERE number = \(migration.number)",
                    on: connection
                )
                logger.info("migration reverted", metadata: ["migration": "\(migration.name)"])
            }
        }
    }

    /// How many migrations the database lacks at this moment, also through a pooler, behind which no
    /// lock would be held.
    package func pendingCount(_ connection: Connection) async throws -> Int {
        let rows = try await connection.execute(
            "SELECT to_regclass('schema_migration') IS NULL AS is_new"
        )
        if try rows.first?.decode("is_new", as: Bool.self) != false { return migrations.count }
        let applied = try await recorded(connection)
        try check(applied)
        return migrations.count - applied.count
    }

    private func withLock<Result>(
        _ connection: Connection,
        _ body: () async throws -> Result
    ) async throws -> Result {
        // A migration of a large table may take longer than any statement in service.
        try await connection.executeScript(
            "SET lock_timeout = 0; SET statement_timeout = 0; SET client_min_messages = warning"
        )
        try await lock(connection)
        let result: Result
        do {
            result = try await body()
        } catch {
            try await unlock(connection)
            throw error
        }
        try await unlock(connection)
        return result
    }

    /// Asks again and again rather than waiting in the server: no statement of ours may take longer
    /// than a connection's deadline, but another instance's migration may.
    private func lock(_ connection: Connection) async throws {
        while true {
            let rows = try await connection.execute(
                """
                SELECT pg_try_advisory_lock(\(Self.lockKey), hashtext(current_schema()))
                    AS is_locked
                """
            )
            if try rows.first?.decode("is_locked", as: Bool.self) == true { return }
            try await Task.sleep(for: Self.lockInterval)
        }
    }

    private func unlock(_ connection: Connection) async throws {
        _ = try await connection.execute(
            "SELECT pg_advisory_unlock(\(Self.lockKey), hashtext(current_schema()))"
        )
    }

    private func applied(_ connection: Connection) async throws -> [Applied] {
        try await connection.executeScript(
            """
            CREATE TABLE IF NOT EXISTS schema_migration (
                number integer PRIMARY KEY,
                name text NOT NULL,
                checksum bytea NOT NULL,
                applied_at timestamptz NOT NULL DEFAULT now()
            )
            """
        )
        return try await recorded(connection)
    }

    private func recorded(_ connection: Connection) async throws -> [Applied] {
        try await connection.execute(
            "SELECT number, name, checksum FROM schema_migration ORDER BY number"
        ).map { row in
            Applied(
                number: Int(try row.decode("number", as: Int32.self)),
                name: try row.decode("name"),
                checksum: try row.decode("checksum")
            )
        }
    }

    private struct Applied {
        let number: Int
        let name: String
        let checksum: [UInt8]
    }

    /// Refuses a database whose history is not the beginning of this version's.
    private func check(_ applied: [Applied]) throws(MigratorError) {
        for (index, entry) in applied.enumerated() {
            guard index < migrations.count else {
                throw .databaseIsNewer(number: entry.number, name: entry.name)
            }
            let migration = migrations[index]
            guard entry.number == migration.number, entry.checksum == migration.checksum else {
                throw .diverged(number: entry.number, name: entry.name)
            }
        }
    }

    private func run(
        _ script: String,
        with entry: String,
        on connection: Connection
    ) async throws {
        do {
            try await connection.executeScript("BEGIN;\n\(script)\n;\(entry);\nCOMMIT")
        } catch {
            try await connection.executeScript("ROLLBACK")
            throw error
        }
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private static func read(folder: String) throws(MigratorError) -> [Migration] {
        let files: [String]
        do {
            files = try FileManager.default.contentsOfDirectory(atPath: folder)
        } catch {
            throw .folderUnreadable(folder)
        }
        let suffix = ".up.sql"
        var migrations: [Migration] = []
        for file in files.filter({ $0.hasSuffix(suffix) }).sorted() {
            let name = String(file.dropLast(suffix.count))
            let number = Int(name.prefix(4)) ?? 0
            // The name goes into a statement of its own making.
            guard number == migrations.count + 1, !name.utf8.contains(UInt8(ascii: "'")),
                let up = FileManager.default.contents(atPath: "\(folder)/\(file)"),
                let down = FileManager.default.contents(atPath: "\(folder)/\(name).down.sql")
            else { throw .sequenceBroken(file) }
            migrations.append(
                Migration(
                    number: number,
                    name: name,
                    up: String(decoding: up, as: UTF8.self),
                    down: String(decoding: down, as: UTF8.self),
                    checksum: Array(SHA256.hash(data: up))
                )
            )
        }
        guard !migrations.isEmpty else { throw .folderUnreadable(folder) }
        return migrations
    }
}

/// Why a schema was not migrated; each says what to do.
package enum MigratorError: Error, Equatable, CustomStringConvertible {
    case folderUnreadable(String)
    case sequenceBroken(String)
    case diverged(number: Int, name: String)
    case databaseIsNewer(number: Int, name: String)

    package var description: String {
        switch self {
        case .folderUnreadable(let folder):
            """
            no migrations in \(folder): name the directory above it with --resources or \
            TRANSFERD_RESOURCES
            """
        case .sequenceBroken(let file):
            """
            migration \(file) does not follow its predecessor or lacks its .down.sql: restore the \
            folder of migrations from the release
            """
        case .diverged(_, let name):
            """
            migration \(name) was applied to this database with another content: use the release \
            that applied it, or restore the file as it was; nothing was changed
            """
        case .databaseIsNewer(_, let name):
            """
            the database has migration \(name), which this release does not know: start the newer \
            release, or revert it there with `transferd migrate --revert`
            """
        }
    }
}
