import Crypto
import Foundation
package import Logging
package import Postgres
import TransferModel

/// Brings a database's schema to the version that this program expects, and back.
///
/// Each migration is one transaction together with its entry in `schema_migration` and the rights
/// to what it adds, and a reversal is one as a whole. All of it is under an advisory lock: of
/// instances that start at once one migrates and the others wait.
///
/// The version of a program is the newest migration it knows. A migration declares itself which
/// older versions may run beside it, and the database keeps that, so that a program can also judge
/// migrations newer than itself: docs/decisions/0027.
package struct Migrator: Sendable {
    /// A step of the schema, as found in the folder of migrations.
    package struct Migration: Sendable {
        /// The number of the step, from 1 without gaps; the first four digits of the file name.
        package let number: Int
        /// The rest of the file name.
        package let name: String
        let up: String
        let down: String
        let checksum: [UInt8]
        /// The oldest version whose program may run on the schema after this step: its own number,
        /// unless the file says `-- runs beside: 0009`.
        let floor: Int
    }

    private let migrations: [Migration]
    private let logger: Logger

    /// Migrations of the versions before the first release, by which their databases are
    /// recognized.
    static let developmentNames: Set = ["0001_sessions_and_tasks", "0012_service_role"]
    /// The start of the first line of a migration that an older program may run beside.
    static let floorMark = "-- runs beside: "
    /// The silence after which a worker is dead, or soon finds out that it counts as dead.
    private static let silenceMax: Duration = .seconds(15)
    /// The number of workers that an error names.
    private static let namesMax: Int64 = 20
    /// The time between two checks whether another instance has finished.
    private static let lockInterval: Duration = .milliseconds(100)

    /// Reads the migrations in a folder.
    ///
    /// - Throws: ``MigratorError`` when the folder is missing or not a sequence of pairs
    ///   `0001_name.up.sql`, `0001_name.down.sql`.
    package init(folder: String, logger: Logger) throws(MigratorError) {
        migrations = try Self.read(folder: folder)
        self.logger = logger
    }

    /// The newest migration that this program knows.
    package var version: Int { migrations.count }

    /// Applies the missing migrations; changes nothing in a newer schema that this program may run
    /// on.
    ///
    /// - Parameters:
    ///   - connection: a connection to PostgreSQL itself, not through a pooler.
    ///   - isForced: whether to migrate even beside workers that cannot run on the new schema,
    ///     which end when they notice.
    /// - Returns: the number of applied migrations.
    /// - Throws: ``MigratorError``, or the errors of the database.
    @discardableResult
    package func migrate(_ connection: Connection, isForced: Bool = false) async throws -> Int {
        try await checkPlace(connection)
        return try await withLock(connection) {
            let applied = try await applied(connection)
            try check(applied)
            let missing = migrations.dropFirst(applied.count)
            if let highest = missing.max(by: { $0.floor < $1.floor }), !isForced {
                let floor = Int32(clamping: highest.floor)
                try await refuse(highest.name, beside: "< \(floor)", connection)
            }
            for migration in missing {
                let checksum = migration.checksum.hexadecimal
                // Not as '\x…', which is another value without standard_conforming_strings.
                let entry = """
                    INSERT INTO schema_migration (number, name, checksum, runs_beside)
                    VALUES (\(migration.number), '\(migration.name)', decode('\(checksum)', 'hex'),
                        \(migration.floor))
                    """
                // Without its grants, the roles that serve could not use what it adds.
                let scripts = [migration.up, entry, ServiceRole.grantAgain]
                try await run([Self.step(migration, scripts)], connection)
                logger.info("migration applied", metadata: ["migration": "\(migration.name)"])
            }
            // For rights that were lost otherwise.
            if missing.isEmpty { try await connection.executeScript(ServiceRole.grantAgain) }
            return missing.count
        }
    }

    /// Reverts the newest `count` migrations together with the data they hold, all or none; if
    /// `isForced`, even beneath workers that need them.
    package func revert(
        _ count: Int,
        _ connection: Connection,
        isForced: Bool = false
    ) async throws {
        try await checkPlace(connection)
        try await withLock(connection) {
            let applied = try await applied(connection)
            try check(applied)
            if let unknown = applied.dropFirst(version).first {
                throw MigratorError.databaseIsNewer(number: unknown.number, name: unknown.name)
            }
            guard count <= applied.count else {
                throw MigratorError.fewerApplied(count: applied.count)
            }
            let reverted = applied.suffix(count)
            if let first = reverted.first, !isForced {
                let left = Int32(clamping: applied.count - reverted.count)
                try await refuse(first.name, beside: "> \(left)", connection)
            }
            let newest = migrations.prefix(applied.count).suffix(count).reversed()
            // One that is refused must not come after others have already removed their data.
            let steps = newest.map { migration in
                let entry = "DELETE FROM schema_migration WHERE number = \(migration.number)"
                return Self.step(migration, [migration.down, entry])
            }
            try await run(steps, connection)
            for migration in newest {
                logger.info("migration reverted", metadata: ["migration": "\(migration.name)"])
            }
        }
    }

    /// Returns the number of migrations that the database lacks at this moment.
    ///
    /// It also works through a pooler, which would not keep a lock.
    package func pendingCount(_ connection: Connection) async throws -> Int {
        try await checkPlace(connection)
        if try await lacks("schema_migration", connection) { return migrations.count }
        let applied = try await recorded(connection)
        try check(applied)
        return max(0, migrations.count - applied.count)
    }

    /// Throws unless the database can hold every text that a client may send, and the connection
    /// has a schema for its tables.
    private func checkPlace(_ connection: Connection) async throws {
        let rows = try await connection.execute(
            """
            SELECT current_setting('server_encoding') AS encoding,
                current_schema() IS NULL AS is_nowhere, current_setting('search_path') AS search_path
            """
        )
        guard let row = rows.first else { return }
        let encoding = try row.decode("encoding", as: String.self)
        guard encoding == "UTF8" else { throw MigratorError.encodingUnfit(encoding) }
        guard try !row.decode("is_nowhere", as: Bool.self) else {
            throw MigratorError.schemaMissing(searchPath: try row.decode("search_path"))
        }
    }

    /// Returns whether the schema in which tables are made lacks this one; what later schemas of
    /// the search_path have belongs to other installations.
    private func lacks(_ table: String, _ connection: Connection) async throws -> Bool {
        let rows = try await connection.execute(
            """
            SELECT to_regclass(quote_ident(current_schema()) || '.' || \(table)) IS NULL AS is_missing
            """
        )
        return try rows.first?.decode("is_missing", as: Bool.self) != false
    }

    /// Throws if there are living workers of versions that could not work with the migration.
    private func refuse(
        _ migration: String,
        beside versions: Query,
        _ connection: Connection
    ) async throws {
        if try await lacks("worker", connection) { return }
        let rows = try await connection.execute(
            """
            SELECT name, schema_version FROM worker
            WHERE schema_version \(versions) AND heartbeat_at
                > clock_timestamp() - \(Self.silenceMax.milliseconds) * interval '1 ms'
            ORDER BY incarnation LIMIT \(Self.namesMax)
            """
        )
        let names = try rows.map { row in
            "\(try row.decode("name", as: String.self)) "
                + "(\(try row.decode("schema_version", as: Int32.self)))"
        }
        guard names.isEmpty else { throw MigratorError.workersLive(migration, names) }
    }

    private func withLock<Result>(
        _ connection: Connection,
        _ body: () async throws -> Result
    ) async throws -> Result {
        // A migration of a large table may take longer than any statement in service, but is to end
        // with its program, which not every server can notice.
        try await connection.executeScript(
            """
            SET lock_timeout = \(MigrationRun.lockTimeout.milliseconds);
            SET statement_timeout = 0; SET client_min_messages = warning;
            DO $$ BEGIN
                PERFORM set_config('client_connection_check_interval', '10s', false);
            EXCEPTION WHEN undefined_object OR invalid_parameter_value THEN NULL;
            END $$
            """
        )
        try await lock(connection)
        let result: Result
        do {
            result = try await body()
        } catch {
            // The end of the connection unlocks too, and this error says more.
            try? await unlock(connection)
            throw error
        }
        try await unlock(connection)
        return result
    }

    /// Takes the lock by repeated attempts rather than by waiting in the server.
    ///
    /// No statement of ours may take longer than a connection's deadline, but another instance's
    /// migration may. Each schema has migrations of its own, and so a lock.
    private func lock(_ connection: Connection) async throws {
        while true {
            let rows = try await connection.execute(
                """
                SELECT pg_try_advisory_lock(
                    \(AdvisoryLock.migration.rawValue), hashtext(current_schema())) AS is_locked
                """
            )
            if try rows.first?.decode("is_locked", as: Bool.self) == true { return }
            try await Task.sleep(for: Self.lockInterval)
        }
    }

    private func unlock(_ connection: Connection) async throws {
        _ = try await connection.execute(
            """
            SELECT pg_advisory_unlock(
                \(AdvisoryLock.migration.rawValue), hashtext(current_schema()))
            """
        )
    }

    private func applied(_ connection: Connection) async throws -> [Applied] {
        try await connection.executeScript(
            """
            CREATE TABLE IF NOT EXISTS schema_migration (
                number integer PRIMARY KEY,
                name text NOT NULL,
                checksum bytea NOT NULL,
                applied_at timestamptz NOT NULL DEFAULT now(),
                runs_beside integer
            )
            """
        )
        return try await recorded(connection)
    }

    private func recorded(_ connection: Connection) async throws -> [Applied] {
        // Read by way of JSON: a database of a development version may lack the column, and is
        // refused with a sentence.
        try await connection.execute(
            """
            SELECT number, name, checksum,
                coalesce((to_jsonb(m) ->> 'runs_beside')::integer, number) AS floor
            FROM schema_migration m ORDER BY number
            """
        ).map { row in
            Applied(
                number: Int(try row.decode("number", as: Int32.self)),
                name: try row.decode("name"),
                checksum: try row.decode("checksum"),
                floor: Int(try row.decode("floor", as: Int32.self))
            )
        }
    }

    private struct Applied {
        let number: Int
        let name: String
        let checksum: [UInt8]
        let floor: Int
    }

    /// Throws unless the database's history is the beginning of this version's, or a continuation
    /// that this version may run beside.
    private func check(_ applied: [Applied]) throws(MigratorError) {
        // Its migrations are neither changed ones nor those of a newer release.
        guard !applied.contains(where: { Self.developmentNames.contains($0.name) }) else {
            throw .madeInDevelopment
        }
        for (index, entry) in applied.enumerated() {
            guard index < migrations.count else {
                guard entry.floor <= version else {
                    throw .databaseIsNewer(number: entry.number, name: entry.name)
                }
                continue
            }
            let migration = migrations[index]
            guard entry.number == migration.number, entry.checksum == migration.checksum else {
                throw .diverged(number: entry.number, name: entry.name)
            }
        }
    }

    private func run(_ steps: [MigrationRun.Step], _ connection: Connection) async throws {
        try await MigrationRun(steps: steps, connection: connection, logger: logger).run()
    }

    private static func step(_ migration: Migration, _ scripts: [String]) -> MigrationRun.Step {
        MigrationRun.Step(name: migration.name, script: scripts.joined(separator: "\n;\n"))
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
            // The name becomes part of a statement's text.
            guard number == migrations.count + 1, !name.utf8.contains(UInt8(ascii: "'")),
                let up = FileManager.default.contents(atPath: "\(folder)/\(file)"),
                let down = FileManager.default.contents(atPath: "\(folder)/\(name).down.sql")
            else { throw .sequenceBroken(file) }
            let floor = Self.floor(in: String(decoding: up, as: UTF8.self), default: number)
            guard let floor, (1...number).contains(floor) else { throw .floorUnreadable(file) }
            migrations.append(
                Migration(
                    number: number,
                    name: name,
                    up: String(decoding: up, as: UTF8.self),
                    down: String(decoding: down, as: UTF8.self),
                    checksum: Array(SHA256.hash(data: up)),
                    floor: floor
                )
            )
        }
        guard !migrations.isEmpty else { throw .folderUnreadable(folder) }
        return migrations
    }
}

extension Migrator {
    /// Returns the version that the first line of a migration names, or its own number; nil for a
    /// first line that cannot be read.
    private static func floor(in text: String, default number: Int) -> Int? {
        let line = text.prefix { !$0.isNewline }
        guard line.hasPrefix(floorMark) else { return number }
        return Int(line.dropFirst(floorMark.count))
    }
}
