import Postgres
import Testing
import TransferStore
import TransferTestSupport

/// The settings without which a plan may read far more than a statement asks for.
@Suite(.postgresSchema) struct ServerSettingsTests {
    /// The server is told to divide whatever it can, as it does by itself with a full table: a page
    /// of the tenant's feed read all of it, in three processes.
    @Test(arguments: [false, true])
    func noPlanIsDividedAmongProcesses(asService: Bool) async throws {
        let connection = try await TestDatabase.current.connection {
            $0.serverSettings["force_parallel_mode"] = "on"
            if asService { $0.serverSettings.merge(Database.serverSettings) { $1 } }
        }
        let plan = try await connection.execute("EXPLAIN SELECT relname FROM pg_class").map {
            try $0.decode("QUERY PLAN", as: String.self)
        }
        #expect(plan.contains { $0.contains("Gather") } == !asService)
        await connection.close()
    }
}
