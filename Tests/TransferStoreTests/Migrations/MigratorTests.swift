import Foundation
@testable import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@Suite(.postgresSchema) struct MigratorTests {
    private static let files = FileManager.default

    @Test func goesUpDownAndUpAgain() async throws {
        let connection = try await TestDatabase.current.connection()
        let migrator = try StoreFixture.migrator()
        let pending = try await migrator.pendingCount(connection)
        #expect(pending > 0)
        #expect(try await migrator.migrate(connection) == pending)
        #expect(try await migrator.migrate(connection) == 0)
        let schema = try await SchemaDump.take()
        try await migrator.revert(pending, connection)
        let tables = try await connection.execute(
            """
            SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = current_schema() AND c.relkind = 'r'
                AND c.relname <> 'schema_migration'
            """
        )
        #expect(tables.isEmpty)
        #expect(try await migrator.migrate(connection) == pending)
        #expect(try await SchemaDump.take() == schema)
    }

    @Test func makesTheSchemaThatIsCommitted() async throws {
        let connection = try await TestDatabase.current.connection()
        try await StoreFixture.migrator().migrate(connection)
        let dump = try await SchemaDump.take()
        if ProcessInfo.processInfo.environment["TRANSFERD_WRITE_SCHEMA"] != nil {
            try dump.write(to: SchemaDump.committed, atomically: true, encoding: .utf8)
        }
        let committed = try String(contentsOf: SchemaDump.committed, encoding: .utf8)
        #expect(
            dump == committed,
            "review the change, then run this test with TRANSFERD_WRITE_SCHEMA=1"
        )
    }

    @Test func theDatabaseHasTheWordsOfTheCode() async throws {
        let connection = try await TestDatabase.current.connection()
        try await StoreFixture.migrator().migrate(connection)
        let rows = try await connection.execute(
            "SELECT unnest(enum_range(NULL::task_state))::text AS word"
        )
        let words = try rows.map { try $0.decode("word", as: String.self) }
        #expect(words == TransferState.allCases.map(\.rawValue))
    }

    @Test func refusesAMigrationWithAnotherContentThanTheAppliedOne() async throws {
        let connection = try await TestDatabase.current.connection()
        try await StoreFixture.migrator().migrate(connection)
        try await Self.withFolder { folder in
            let first = "\(folder)/0001_tenancy.up.sql"
            let changed = try String(contentsOfFile: first, encoding: .utf8) + "\n-- changed\n"
            try changed.write(toFile: first, atomically: true, encoding: .utf8)
            let migrator = try StoreFixture.migrator(folder: folder)
            await #expect(
                throws: MigratorError.diverged(number: 1, name: "0001_tenancy")
            ) { try await migrator.migrate(connection) }
            await #expect(throws: MigratorError.self) { try await migrator.revert(1, connection) }
        }
    }

    /// The oldest of these databases lack a column, the newest have more migrations than exist
    /// today.
    @Test(arguments: [
        (1, false, "0001_sessions_and_tasks"), (5, true, "0001_sessions_and_tasks"),
        (40, true, "0001_sessions_and_tasks"), (17, true, "0012_service_role"),
    ])
    func refusesADatabaseOfADevelopmentVersion(
        applied: Int,
        tellsFloors: Bool,
        name: String
    ) async throws {
        let connection = try await TestDatabase.current.connection()
        try await connection.executeScript(
            """
            CREATE TABLE schema_migration (
                number integer PRIMARY KEY, name text NOT NULL, checksum bytea NOT NULL,
                applied_at timestamptz NOT NULL DEFAULT now()
                \(tellsFloors ? ", runs_beside integer" : ""));
            INSERT INTO schema_migration (number, name, checksum)
            SELECT n, CASE n WHEN \(Int(name.prefix(4)) ?? 0) THEN '\(name)' ELSE 'another' END, 'old'
            FROM generate_series(1, \(applied)) AS n;
            \(tellsFloors ? "UPDATE schema_migration SET runs_beside = 1" : "")
            """
        )
        let schema = try await SchemaDump.take()
        let migrator = try StoreFixture.migrator()
        let refusal = MigratorError.madeInDevelopment
        await #expect(throws: refusal) { try await migrator.pendingCount(connection) }
        await #expect(throws: refusal) { try await migrator.migrate(connection) }
        await #expect(throws: refusal) { try await migrator.migrate(connection, isForced: true) }
        await #expect(throws: refusal) { try await migrator.revert(1, connection) }
        #expect("\(refusal)".contains("a development version from before the first release"))
        let rows = try await connection.execute(
            """
            SELECT count(*) AS rows, (
                SELECT count(*) FROM pg_attribute WHERE attrelid = 'schema_migration'::regclass
                    AND attnum > 0) AS columns
            FROM schema_migration
            """
        )
        #expect(try rows[0].decode("rows", as: Int64.self) == Int64(applied))
        #expect(try rows[0].decode("columns", as: Int64.self) == (tellsFloors ? 5 : 4))
        #expect(try await SchemaDump.take() == schema)
    }

    @Test(arguments: ["LATIN1", "SQL_ASCII"])
    func refusesADatabaseOfAnotherEncoding(encoding: String) async throws {
        let database = TestDatabase.current
        let aside = try await database.connection()
        let name = "\(database.schema)_\(encoding)"
        let identifier = Query.quoted(identifier: name)
        try await aside.executeScript(
            "CREATE DATABASE \(identifier) ENCODING '\(encoding)' LOCALE 'C' TEMPLATE template0"
        )
        var configuration = ConnectionConfiguration(
            url: "\(database.configuration.url) dbname=\(name)"
        )
        configuration.connectTimeout = .seconds(60)
        let connection = try await Connection.open(configuration, on: database.loop)
        let migrator = try StoreFixture.migrator()
        let refusal = MigratorError.encodingUnfit(encoding)
        await #expect(throws: refusal) { try await migrator.pendingCount(connection) }
        await #expect(throws: refusal) { try await migrator.migrate(connection) }
        let rows = try await connection.execute(
            "SELECT to_regclass('schema_migration') IS NULL AS is_unchanged"
        )
        #expect(try rows[0].decode("is_unchanged", as: Bool.self))
        #expect("\(refusal)".contains("ENCODING 'UTF8'"))
        await connection.close()
        try await aside.executeScript("DROP DATABASE \(identifier) WITH (FORCE)")
    }

    @Test func refusesASearchPathWithoutASchema() async throws {
        let connection = try await TestDatabase.current.connection {
            $0.searchPath = "nowhere, neither"
        }
        let migrator = try StoreFixture.migrator()
        let refusal = MigratorError.schemaMissing(searchPath: "nowhere, neither")
        await #expect(throws: refusal) { try await migrator.pendingCount(connection) }
        await #expect(throws: refusal) { try await migrator.migrate(connection) }
        await #expect(throws: refusal) { try await migrator.revert(1, connection) }
        #expect("\(refusal)".contains("the search_path is nowhere, neither"))
    }

    /// As a database may have it for older programs that use it too.
    @Test func knowsWhatItAppliedWhereStringsHaveBackslashes() async throws {
        let connection = try await TestDatabase.current.connection {
            $0.serverSettings["standard_conforming_strings"] = "off"
        }
        let migrator = try StoreFixture.migrator()
        #expect(try await migrator.migrate(connection) == migrator.version)
        #expect(try await migrator.migrate(connection) == 0)
    }

    @Test func refusesADatabaseThatIsNewer() async throws {
        let connection = try await TestDatabase.current.connection()
        let migrator = try StoreFixture.migrator()
        let count = try await migrator.migrate(connection)
        _ = try await connection.execute(
            """
            INSERT INTO schema_migration (number, name, checksum)
            VALUES (\(Int32(count + 1)), 'later', \([UInt8](repeating: 1, count: 32)))
            """
        )
        await #expect(
            throws: MigratorError.databaseIsNewer(number: count + 1, name: "later")
        ) { try await migrator.migrate(connection) }
    }

    @Test(arguments: [(0, true), (1, false)])
    func acceptsANewerSchemaThatItMayRunBeside(above: Int, isAccepted: Bool) async throws {
        let connection = try await TestDatabase.current.connection()
        let migrator = try StoreFixture.migrator()
        let count = try await migrator.migrate(connection)
        #expect(count == migrator.version)
        _ = try await connection.execute(
            """
            INSERT INTO schema_migration (number, name, checksum, runs_beside)
            VALUES (\(Int32(count + 1)), 'later', \([UInt8](repeating: 1, count: 32)),
                \(Int32(count + above)))
            """
        )
        if isAccepted {
            #expect(try await migrator.pendingCount(connection) == 0)
            #expect(try await migrator.migrate(connection) == 0)
        } else {
            let refusal = MigratorError.databaseIsNewer(number: count + 1, name: "later")
            await #expect(throws: refusal) { try await migrator.pendingCount(connection) }
            await #expect(throws: refusal) { try await migrator.migrate(connection) }
        }
        // It cannot revert a migration that it does not know.
        await #expect(throws: MigratorError.self) { try await migrator.revert(1, connection) }
        // A newer schema is judged by the highest floor, and so is a running instance.
        var settings = StoreSettings()
        settings.schemaVersion = count
        let stores = Stores(Database(pool: TestDatabase.current.pool(), settings: settings))
        #expect(
            try await stores.fleet.vitals(silentFor: .seconds(60)).schemaFloor == count + above
        )
    }

    /// Workers of the previous version, of this version, and one that died.
    ///
    /// A heartbeat from the future is recent for as long as the test lasts.
    @Test(arguments: [(-1, -600.0, false), (0, -600.0, true), (-1, 60.0, true)])
    func changesNothingBeneathWorkersThatCannotRunBeside(
        distance: Int,
        silentFor seconds: Double,
        isApplied: Bool
    ) async throws {
        let connection = try await TestDatabase.current.connection()
        let count = try await StoreFixture.migrator().migrate(connection)
        var settings = StoreSettings()
        settings.schemaVersion = count + distance
        let stores = Stores(Database(pool: TestDatabase.current.pool(), settings: settings))
        let worker = try await stores.workers.registerWorker(name: "older:1")
        _ = try await connection.execute(
            """
            UPDATE worker SET heartbeat_at = now() - \(seconds) * interval '1 s'
            WHERE incarnation = \(worker)
            """
        )
        try await Self.withFolder { folder in
            func write(_ text: String, _ direction: String) throws {
                let name = String(format: "%04d_change", count + 1)
                let file = "\(folder)/\(name).\(direction).sql"
                try text.write(toFile: file, atomically: true, encoding: .utf8)
            }
            let floor = String(format: "%04d", count)
            try write("-- runs beside: \(floor)\nCREATE TABLE novelty ()", "up")
            try write("DROP TABLE novelty", "down")
            let migrator = try StoreFixture.migrator(folder: folder)
            let name = String(format: "%04d_change", count + 1)
            if isApplied {
                #expect(try await migrator.migrate(connection) == 1)
            } else {
                let refusal = MigratorError.workersLive(name, ["older:1 (\(count - 1))"])
                await #expect(throws: refusal) { try await migrator.migrate(connection) }
                #expect(try await migrator.migrate(connection, isForced: true) == 1)
            }
        }
    }

    @Test func takesNothingFromBeneathAWorkerThatNeedsIt() async throws {
        let connection = try await TestDatabase.current.connection()
        let migrator = try StoreFixture.migrator()
        var settings = StoreSettings()
        settings.schemaVersion = try await migrator.migrate(connection)
        let stores = Stores(Database(pool: TestDatabase.current.pool(), settings: settings))
        let worker = try await stores.workers.registerWorker(name: "newer:1")
        await #expect(throws: MigratorError.self) { try await migrator.revert(1, connection) }
        try await stores.workers.retireWorker(incarnation: worker)
        try await migrator.revert(1, connection)
    }

    /// Of a full reversal, the first step alone would cost the audit log.
    @Test func aReversalThatIsRefusedRevertsNothing() async throws {
        let connection = try await TestDatabase.current.connection()
        let count = try await StoreFixture.migrator().migrate(connection)
        let schema = try await SchemaDump.take()
        try await Self.withFolder { folder in
            try "SELECT 1 / 0".write(
                toFile: "\(folder)/0010_sealed_values.down.sql",
                atomically: true,
                encoding: .utf8
            )
            let migrator = try StoreFixture.migrator(folder: folder)
            let refusal = await #expect(throws: MigratorError.self) {
                try await migrator.revert(count, connection)
            }
            #expect(refusal?.description.contains("migration 0010_sealed_values failed") == true)
            await #expect(throws: MigratorError.fewerApplied(count: count)) {
                try await migrator.revert(count + 1, connection)
            }
            let pending = try await migrator.pendingCount(connection)
            #expect(pending == 0)
        }
        #expect(try await SchemaDump.take() == schema)
    }

    @Test(arguments: ["nonsense", "", "0000", "9999"])
    func refusesAMigrationThatNamesNoVersion(floor: String) async throws {
        try await Self.withFolder { folder in
            let file = "\(folder)/0002_sessions.up.sql"
            try "-- runs beside: \(floor)\n".write(
                toFile: file,
                atomically: true,
                encoding: .utf8
            )
            #expect(throws: MigratorError.floorUnreadable("0002_sessions.up.sql")) {
                try StoreFixture.migrator(folder: folder)
            }
        }
    }

    @Test func ofTwoAtOnceOneMigrates() async throws {
        let migrator = try StoreFixture.migrator()
        let first = try await TestDatabase.current.connection()
        let second = try await TestDatabase.current.connection()
        let pending = try await migrator.pendingCount(first)
        async let one = migrator.migrate(first)
        async let other = migrator.migrate(second)
        #expect(try await [one, other].sorted() == [0, pending])
    }

    @Test func aMigrationThatFailsChangesNothing() async throws {
        let connection = try await TestDatabase.current.connection()
        try await Self.withFolder { folder in
            let name = "\(folder)/0002_sessions.up.sql"
            try "CREATE TABLE half (); SELECT 1 / 0".write(
                toFile: name,
                atomically: true,
                encoding: .utf8
            )
            let migrator = try StoreFixture.migrator(folder: folder)
            await #expect(throws: MigratorError.self) { try await migrator.migrate(connection) }
            let rows = try await connection.execute(
                """
                SELECT to_regclass('half') IS NULL AS is_gone,
                    (SELECT count(*) FROM schema_migration) AS applied
                """
            )
            #expect(try rows[0].decode("is_gone", as: Bool.self))
            #expect(try rows[0].decode("applied", as: Int64.self) == 1)
        }
    }

    @Test func refusesAFolderThatIsNoSequenceOfPairs() async throws {
        #expect(throws: MigratorError.folderUnreadable("/nowhere")) {
            try StoreFixture.migrator(folder: "/nowhere")
        }
        try await Self.withFolder { folder in
            try Self.files.removeItem(atPath: "\(folder)/0002_sessions.down.sql")
            #expect(throws: MigratorError.sequenceBroken("0002_sessions.up.sql")) {
                try StoreFixture.migrator(folder: folder)
            }
        }
        try await Self.withFolder { folder in
            try Self.files.removeItem(atPath: "\(folder)/0001_tenancy.up.sql")
            #expect(throws: MigratorError.sequenceBroken("0002_sessions.up.sql")) {
                try StoreFixture.migrator(folder: folder)
            }
        }
    }

    /// Runs `body` with a copy of the migrations for a test to spoil.
    private static func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = files.temporaryDirectory.appending(path: "migrations-\(UUID())").path
        try files.createDirectory(atPath: folder, withIntermediateDirectories: false)
        // The content is copied file by file: a copied link would lead the test back to the real
        // files.
        for name in try files.contentsOfDirectory(atPath: Checkout.migrations) {
            let original = URL(filePath: "\(Checkout.migrations)/\(name)")
            try Data(contentsOf: original).write(to: URL(filePath: "\(folder)/\(name)"))
        }
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(folder)) } catch { outcome = .failure(error) }
        try files.removeItem(atPath: folder)
        try outcome.get()
    }
}
