import Postgres
import Testing
import TransferTestSupport

/// Connections through a pooler that assigns another session for each transaction.
@Suite(.postgresSchema) struct SharedSessionTests {
    @Test func eachTransactionBringsItsSettingsAndLeavesNothing() async throws {
        let connection = try await TestDatabase.current.connection {
            $0.sharesSessions = true
            $0.lockTimeout = .seconds(7)
            $0.serverSettings = ["enable_seqscan": "off"]
        }
        for _ in 0..<3 {
            let rows = try await connection.execute([
                "SELECT current_setting('lock_timeout') AS value",
                "SELECT current_setting('enable_seqscan') AS value",
                "SELECT count(*)::text AS value FROM pg_prepared_statements",
            ])
            #expect(
                try rows.map { try $0[0].decode("value", as: String.self) } == ["7s", "off", "0"]
            )
        }
        // A script runs unchanged, and shows the settings of the session itself.
        let schema = Query.quoted(identifier: TestDatabase.current.schema)
        try await connection.executeScript(
            "CREATE TABLE \(schema).told AS SELECT current_setting('lock_timeout') AS value"
        )
        let told = try await connection.execute("SELECT value FROM told")
        #expect(try told[0].decode("value", as: String.self) == "0")
        await #expect(throws: PostgresError.self) { try await connection.execute("SELECT 1 / 0") }
        let rows = try await connection.execute("SELECT 1 AS one")
        #expect(try rows[0].decode("one", as: Int32.self) == 1)
    }
}
