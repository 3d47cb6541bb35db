import Postgres
import Testing
import TransferStore
import TransferTestSupport

@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct MigrationRunTests {
    /// A dump or a long report holds such a lock; whoever waits for the table waits behind the
    /// migration.
    @Test func theServiceGetsOnWhileAMigrationWaitsForATable() async throws {
        let fixture = try await StoreFixture()
        let later = try LaterMigration("ALTER TABLE task ADD COLUMN novelty int")
        let reader = try await TestDatabase.current.connection()
        try await reader.executeScript("BEGIN; LOCK TABLE task IN ACCESS SHARE MODE")
        let connection = try await TestDatabase.current.connection()
        let migration = Task { try await later.migrator.migrate(connection, isForced: true) }
        try await eventually("the migration waits for the table") {
            try await !fixture.aside.execute(
                "SELECT 1 AS one FROM pg_locks WHERE relation = 'task'::regclass AND NOT granted"
            ).isEmpty
        }
        let submitted = try? await fixture.submit()
        try await reader.executeScript("COMMIT")
        #expect(submitted?.count == 1)
        #expect(try await migration.value == 1)
    }

    @Test func whatFailsSaysWhichMigrationAndWhy() async throws {
        let fixture = try await StoreFixture()
        let later = try LaterMigration("CREATE TABLE half (); SELECT 1 / 0")
        let failure = await #expect(throws: MigratorError.self) {
            try await later.migrator.migrate(fixture.aside, isForced: true)
        }
        #expect(
            failure?.description
                == "migration \(later.name) failed: division by zero (SQLSTATE 22012)"
        )
        #expect(try await later.migrator.pendingCount(fixture.aside) == 1)
    }

    /// The first error, not that of undoing what was lost with the connection.
    @Test func aConnectionThatIsLostIsSaid() async throws {
        let fixture = try await StoreFixture()
        let later = try LaterMigration("SELECT pg_terminate_backend(pg_backend_pid())")
        let connection = try await TestDatabase.current.connection()
        let failure = await #expect(throws: MigratorError.self) {
            try await later.migrator.migrate(connection, isForced: true)
        }
        guard case .failed(later.name, let error)? = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(error.code == .connectionLost)
        #expect(error.sqlState == "57P01")
        #expect(try await later.migrator.pendingCount(fixture.aside) == 1)
    }
}
