@testable import Postgres
import Testing
import TransferTestSupport

@Suite(.postgresSchema, .timeLimit(.minutes(5))) struct ClosingConnectionTests {
    private func isClosing(_ connection: isolated Connection) -> Bool {
        if case .closing = connection.state { return true }
        return false
    }

    /// The pool then uses another connection: nothing was sent, and the pool itself is open.
    @Test func aStatementThatComesTooLateHasMerelyNoConnection() async throws {
        let connection = try await TestDatabase.current.connection()
        let held = try await HeldStatement()
        async let first = connection.execute(held.query)
        try await held.waitUntilReached()
        async let closing: Void = connection.close()
        try await eventually("the connection closes") { await isClosing(connection) }
        let failure = await #expect(throws: PostgresError.self) {
            try await connection.execute("SELECT 1 AS one")
        }
        #expect(failure?.code == .connectionFailed)
        try await held.letGo()
        let rows = try await first
        #expect(rows.count == 1)
        await closing
    }
}
