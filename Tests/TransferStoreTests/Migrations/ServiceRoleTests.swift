import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// The role with which instances serve, in a real cluster whose roles are made for the test.
@Suite(.postgresSchema) struct ServiceRoleTests {
    @Test func changesRowsAndDefinesNothing() async throws {
        let fixture = try await StoreFixture()
        let connection = try await TestDatabase.current.connection { $0.actAsService() }
        #expect(try await ServiceRole.rights(connection) == .rows)
        let definitions = [
            "CREATE TABLE novelty ()", "DROP TABLE delayed", "ALTER TABLE task ADD COLUMN x int",
            "TRUNCATE task", "CREATE INDEX ON task (url)",
            "ALTER TABLE audit_entry DISABLE TRIGGER ALL", "DROP TABLE event_run_default",
            "CREATE OR REPLACE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE sql AS ''",
            "UPDATE audit_entry SET object = 'other'", "DELETE FROM audit_block",
            "DELETE FROM schema_migration", "SELECT grant_to_service('pg_monitor'::regrole)",
        ]
        for definition in definitions {
            await #expect("\(definition)") {
                try await connection.executeScript(definition)
            } throws: {
                ($0 as? PostgresError)?.sqlState == "42501"
            }
        }
        #expect(try await ServiceRole.rights(fixture.aside) != .rows)
    }

    @Test func partitionsAreMadeAndDroppedOnlyAsTheServiceDoes() async throws {
        let fixture = try await StoreFixture()
        let connection = try await TestDatabase.current.connection { $0.actAsService() }
        let missing = try await fixture.stores.partitions.missingPartitions(of: .events)
        for partition in missing {
            #expect(try await fixture.stores.partitions.makePartition(partition))
        }
        let others: [Query] = [
            // Another table, another day than a Monday, and weeks that nobody needs yet or still
            // has.
            "SELECT make_log_partition('task', date_trunc('week', now())::date)",
            "SELECT make_log_partition('event_run', date_trunc('week', now())::date + 1)",
            "SELECT make_log_partition('event_run', date_trunc('week', now())::date + 70)",
            "SELECT make_log_partition('event_run; DROP TABLE task', date_trunc('week', now())::date)",
            "SELECT drop_log_partition('event_run', date_trunc('week', now())::date)",
            "SELECT drop_log_partition('task', '2024-01-01')",
        ]
        for other in others {
            await #expect {
                _ = try await connection.execute(other)
            } throws: {
                ($0 as? PostgresError)?.sqlState == "22023"
            }
        }
    }

    /// Whoever may make temporary tables could otherwise show the functions others.
    @Test func temporaryTablesDeceiveNoFunction() async throws {
        let fixture = try await StoreFixture()
        let connection = try await TestDatabase.current.connection { $0.actAsService() }
        try await connection.executeScript(
            "CREATE TEMPORARY TABLE event_run (occurred_at timestamptz) PARTITION BY RANGE (occurred_at)"
        )
        _ = try await connection.execute(
            "SELECT make_log_partition('event_run', date_trunc('week', now())::date)"
        )
        let missing = try await fixture.stores.partitions.missingPartitions(of: .events)
        #expect(missing.count == 2)
    }

    /// Without quotes, the name of the one is that of the other.
    @Test func aSchemaOfALikeNameIsAnother() async throws {
        let database = TestDatabase.current
        let aside = try await database.connection()
        let stranger = Query.quoted(identifier: "\(database.schema)_like")
        let schema = Query.quoted(identifier: "\(database.schema)_Like")
        try await aside.executeScript(
            "CREATE SCHEMA \(schema); CREATE SCHEMA \(stranger); CREATE TABLE \(stranger).secret ()"
        )
        let owner = try await database.connection { $0.searchPath = schema }
        try await StoreFixture.migrator().migrate(owner)
        try await ServiceRole(name: TestDatabase.serviceRole).grant(owner)
        #expect(try await ServiceRole.rights(owner) != .rows)
        let pool = database.pool {
            $0.searchPath = schema
            $0.actAsService()
        }
        let partitions = Stores(Database(pool: pool)).partitions
        for partition in try await partitions.missingPartitions(of: .events) {
            #expect(try await partitions.makePartition(partition))
        }
        #expect(try await partitions.missingPartitions(of: .events).isEmpty)
        let rows = try await aside.execute(
            """
            SELECT has_table_privilege(
                \(TestDatabase.serviceRole), \(stranger) || '.secret', 'SELECT') AS is_granted
            """
        )
        #expect(try !rows[0].decode("is_granted", as: Bool.self))
        await pool.close()
        try await aside.executeScript(
            "DROP SCHEMA \(schema) CASCADE; DROP SCHEMA \(stranger) CASCADE"
        )
    }

    /// What a later migration adds is for every role that serves.
    @Test func laterMigrationsGrantAgain() async throws {
        let fixture = try await StoreFixture()
        let folder = try TestFolder("migrations")
        try FileManager.default.copyItem(
            atPath: Checkout.migrations,
            toPath: "\(folder.path)/all"
        )
        let number = try StoreFixture.migrator().version + 1
        let name = "\(folder.path)/all/\(String(format: "%04d", number))_novelty"
        try "CREATE TABLE novelty (x int)".write(
            toFile: "\(name).up.sql",
            atomically: true,
            encoding: .utf8
        )
        try "DROP TABLE novelty".write(
            toFile: "\(name).down.sql",
            atomically: true,
            encoding: .utf8
        )
        let migrator = try StoreFixture.migrator(folder: "\(folder.path)/all")
        #expect(try await migrator.migrate(fixture.aside, isForced: true) == 1)
        let connection = try await TestDatabase.current.connection { $0.actAsService() }
        _ = try await connection.execute("INSERT INTO novelty VALUES (1)")
    }

    /// Otherwise an end between the two would leave the role without them permanently.
    @Test func aMigrationWithoutItsGrantsIsNotApplied() async throws {
        let fixture = try await StoreFixture()
        let later = try LaterMigration(
            """
            CREATE OR REPLACE FUNCTION grant_to_service(role regrole) RETURNS void
            LANGUAGE plpgsql AS $$ BEGIN RAISE 'no rights'; END $$
            """
        )
        await #expect(throws: MigratorError.self) {
            try await later.migrator.migrate(fixture.aside, isForced: true)
        }
        #expect(try await later.migrator.pendingCount(fixture.aside) == 1)
    }

    @Test func rightsThatWereLostAreGrantedAgain() async throws {
        let fixture = try await StoreFixture()
        try await fixture.aside.executeScript(
            "REVOKE ALL ON task FROM \(Query.quoted(identifier: TestDatabase.serviceRole))"
        )
        #expect(try await StoreFixture.migrator().migrate(fixture.aside) == 0)
        #expect(try await fixture.submit().count == 1)
    }

    /// A restore without privileges gives everybody all functions, also those with the rights of
    /// their owner.
    @Test func whatARestoreGaveToEverybodyIsTakenBack() async throws {
        let fixture = try await StoreFixture()
        func strangersMayDrop() async throws -> Bool {
            let rows = try await fixture.aside.execute(
                """
                SELECT has_function_privilege(
                    'pg_monitor', 'drop_log_partition(text, date)', 'EXECUTE') AS may_drop
                """
            )
            return try rows[0].decode("may_drop", as: Bool.self)
        }
        #expect(try await !strangersMayDrop())
        #expect(try await !ServiceRole.isEverybodys(fixture.aside))
        try await fixture.aside.executeScript(
            """
            GRANT EXECUTE ON FUNCTION make_log_partition(text, date), drop_log_partition(text, date)
            TO PUBLIC
            """
        )
        #expect(try await strangersMayDrop())
        #expect(try await ServiceRole.isEverybodys(fixture.aside))
        #expect(try await StoreFixture.migrator().migrate(fixture.aside) == 0)
        #expect(try await !strangersMayDrop())
        #expect(try await !ServiceRole.isEverybodys(fixture.aside))
    }

    @Test func functionsNeedNotBeEverybodys() async throws {
        let fixture = try await StoreFixture()
        let schema = Query.quoted(identifier: TestDatabase.current.schema)
        try await fixture.aside.executeScript(
            "REVOKE ALL ON ALL FUNCTIONS IN SCHEMA \(schema) FROM PUBLIC"
        )
        #expect(try await fixture.submit().count == 1)
    }

    @Test func aRoleIsMadeOnceAndGrantedOnce() async throws {
        let connection = try await TestDatabase.current.connection()
        try await StoreFixture.migrator().migrate(connection)
        let name = "\(TestDatabase.current.schema) 'role'"
        let role = ServiceRole(name: name)
        #expect(try await !role.isGranted(connection))
        for _ in 0..<2 { try await role.create(connection) }
        for _ in 0..<2 { try await role.grant(connection) }
        #expect(try await role.isGranted(connection))
        // The server's log would have each statement that a client lets fail.
        let settings = try await connection.execute(
            """
            SELECT s.setconfig AS settings FROM pg_db_role_setting s
            WHERE s.setrole = to_regrole(quote_ident(\(name)))
            """
        )
        #expect(
            try settings.map { try $0.decode("settings", as: [String].self) }
                == [["log_min_messages=log"]]
        )
        try await connection.executeScript(
            "DROP OWNED BY \(Query.quoted(identifier: name)); "
                + "DROP ROLE \(Query.quoted(identifier: name))"
        )
        await #expect {
            try await ServiceRole(name: "no such role").grant(connection)
        } throws: {
            ($0 as? PostgresError)?.sqlState == "42704"
        }
    }
}
