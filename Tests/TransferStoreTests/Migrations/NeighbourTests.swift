import Postgres
import Testing
import TransferStore
import TransferTestSupport

/// A schema whose connections also find the tables of another installation.
@Suite(.postgresSchema) struct NeighbourTests {
    @Test func aSchemaBesideAnotherInstallationHasItsOwnMigrationsAndPartitions() async throws {
        // It has a worker that lives, of a version that could not run beside this one.
        let neighbour = try await StoreFixture()
        for partition in try await neighbour.stores.partitions.missingPartitions(of: .events) {
            #expect(try await neighbour.stores.partitions.makePartition(partition))
        }
        let database = TestDatabase.current
        let schema = Query.quoted(identifier: "\(database.schema)_own")
        let path = "\(schema), \(Query.quoted(identifier: database.schema))"
        let owner = try await database.connection { $0.searchPath = path }
        let pool = database.pool { $0.searchPath = path }
        try await neighbour.aside.executeScript("CREATE SCHEMA \(schema)")
        let outcome: Result<Void, any Error>
        do {
            try await Self.migrate(owner)
            try await Self.makePartitions(pool)
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        // It is not in the schema of the test, and nobody else drops it.
        await pool.close()
        await owner.close()
        try await neighbour.aside.executeScript("DROP SCHEMA \(schema) CASCADE")
        try outcome.get()
    }

    private static func migrate(_ owner: Connection) async throws {
        let migrator = try StoreFixture.migrator()
        let role = ServiceRole(name: TestDatabase.serviceRole)
        #expect(try await !role.isGranted(owner))
        #expect(try await migrator.pendingCount(owner) == migrator.version)
        #expect(try await migrator.migrate(owner) == migrator.version)
        #expect(try await migrator.pendingCount(owner) == 0)
        // The grants of the neighbour are not repeated here.
        #expect(try await !role.isGranted(owner))
    }

    private static func makePartitions(_ pool: ConnectionPool) async throws {
        let partitions = Stores(Database(pool: pool)).partitions
        let missing = try await partitions.missingPartitions(of: .events)
        #expect(!missing.isEmpty)
        for partition in missing { #expect(try await partitions.makePartition(partition)) }
        #expect(try await partitions.missingPartitions(of: .events).isEmpty)
    }
}
