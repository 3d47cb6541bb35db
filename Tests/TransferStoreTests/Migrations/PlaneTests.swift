import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// The migrations of a full database, each of which makes and reverts one plane.
@Suite(.postgresSchema) struct PlaneTests {
    /// The rules for tasks and counters that hold whatever was lost of history, parts and
    /// deliveries.
    private static let rules: Set<String> = [
        "each task has exactly one place",
        "counters tell what the tables hold",
        "how many tasks of a session are in which state is known",
        "how many tasks of a tenant are in which state is known",
        "a task is there or expired",
    ]

    /// The service continues with the remaining rows and with new ones.
    @Test(arguments: 0..<8) func aPlaneGoesWithItsRowsAndComesBackEmpty(left: Int) async throws {
        let fixture = try await StoreFixture()
        let connection = fixture.aside
        let schema = try await dump()
        _ = try await ScaleWorld(
            tasks: 1000,
            of: fixture.tenant,
            worker: fixture.worker,
            in: fixture.stores,
            by: connection
        )
        // As the answer to a challenge leaves it.
        _ = try await connection.execute(
            """
            INSERT INTO credential (id, tenant_id, kind, form, origins, secret)
            SELECT gen_random_uuid(), id, 'bearer', '{}', '{}', 'sealed' FROM tenant
            """
        )
        try await expectRules(of: connection)
        let migrator = try StoreFixture.migrator()
        let count = migrator.version - left
        // Beside the worker to which the rows belong.
        try await migrator.revert(count, connection, isForced: true)
        #expect(try await migrator.migrate(connection, isForced: true) == count)
        // What was taken back took the grants along.
        try await ServiceRole(name: TestDatabase.serviceRole).grant(connection)
        #expect(try await dump() == schema)
        try await expectRules(of: connection)
        // Rows that name tasks, subscriptions or sessions are removed together with these.
        let answers = try await fixture.count("SELECT count(*) AS count FROM idempotency_key")
        #expect((answers > 0) == (left >= 7))
        let unnamed = try await fixture.count(
            "SELECT count(*) AS count FROM credential WHERE name IS NULL"
        )
        #expect((unnamed > 0) == (left >= 2))

        let stores = fixture.stores
        let tenant = try await stores.keys.createAPIKey(
            NewAPIKey(
                id: "again",
                secretSHA256: Array(repeating: 0, count: 32),
                name: "again"
            ),
            tenantName: "test"
        )
        #expect((tenant == fixture.tenant) == (left > 0))
        let put = try await stores.sessions.putSession(
            tenant: tenant,
            identifier: "again",
            configuration: SessionConfiguration()
        )
        #expect(put.isCreated)
        let submissions = StoreFixture.submissions(3)
        _ = try await stores.submissions.submit(
            submissions,
            tenant: tenant,
            sessionIdentifier: "again"
        )
        let worker = WorkerIdentity(
            incarnation: try await stores.workers.registerWorker(name: "again")
        )
        let claims = try await fixture.claim(2000, by: worker)
        #expect(Set(claims.map(\.task)).isSuperset(of: submissions.map(\.id)))
        #expect(try await fixture.complete(claims).count == claims.count)
        let session = try await stores.sessions.session(tenant: tenant, identifier: "again")
        #expect(session?.taskCounts[.completed] == 3)
        #expect(session?.progress.outstanding == 0)
        try await expectRules(of: connection)
    }

    private func expectRules(of connection: Connection) async throws {
        let rules = StoreFixture.invariants.filter { Self.rules.contains($0.rule) }
        #expect(rules.count == Self.rules.count)
        for (rule, violations) in rules {
            let rows = try await connection.execute("SELECT 1 FROM (\(violations)) v LIMIT 1")
            #expect(rows.isEmpty, "\(rule)")
        }
    }

    /// Returns the schema without the weeks that the service has made.
    private func dump() async throws -> [Substring] {
        try await SchemaDump.take().split(separator: "\n")
            .filter { !$0.contains(" FOR VALUES FROM ") }
    }
}
