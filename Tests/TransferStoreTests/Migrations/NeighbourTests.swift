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
        try await neighbour.aside.executeScript("CREATE SCHEMA \(schema)")
        let owner = try await database.connection { $0.searchPath = path }
        let migrator = try StoreFixture.migrator()
        let role = ServiceRole(name: TestDatabase.serviceRole)
        #expect(try await !role.isGranted(owner))
        #expect(try await migrator.pendingCount(owner) == migrator.version)
        #expect(try await migrator.migrate(owner) == migrator.version)
        #expect(try await migrator.pendingCount(owner) == 0)
        // The grants of the neighbour are not repeated here.
        #expect(try await !role.isGranted(owner))

        let pool = database.pool { $0.searchPath = path }
        let partitions = Stores(Database(pool: pool)).partitions
        let missing = try await partitions.missingPartitions(of: .events)
        #expect(!missing.isEmpty)
        for partition in missing { #expect(try await partitions.makePartition(partition)) }
        #expect(try await partitions.missingPartitions(of: .events).isEmpty)
        await pool.close()
        try await owner.executeScript("DROP SCHEMA \(schema) CASCADE")
    }
}
