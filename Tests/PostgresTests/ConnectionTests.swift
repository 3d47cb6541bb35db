import PollLoop
import Foundation
import Postgres
import Synchronization
import Testing
import TransferTestSupport

@Suite(.postgresSchema, .timeLimit(.minutes(5))) struct ConnectionTests {
    @Test func executesStatementWithBinds() async throws {
        let connection = try await TestDatabase.current.connection()
        let rows = try await connection.execute("SELECT \(40) + \(2) AS sum, \("a'b") AS text")
        #expect(rows.count == 1)
        #expect(try rows[0].decode("sum", as: Int.self) == 42)
        #expect(try rows[0].decode("text") == "a'b")
    }

    @Test func countsAffectedRows() async throws {
        let connection = try await TestDatabase.current.connection()
        try await connection.executeScript("CREATE TABLE item (id int8 PRIMARY KEY)")
        let inserted = try await connection.execute(
            "INSERT INTO item SELECT unnest(\([1, 2, 3] as [Int]))"
        )
        #expect(inserted.affectedCount == 3)
        #expect(inserted.isEmpty)
    }

    @Test func segmentIsAllOrNothing() async throws {
        let connection = try await TestDatabase.current.connection()
        try await connection.executeScript("CREATE TABLE item (id int8 PRIMARY KEY)")
        let failure = await #expect(throws: PostgresError.self) {
            try await connection.execute([
                "INSERT INTO item VALUES (\(1))", "INSERT INTO item VALUES (\(2))",
                "INSERT INTO item VALUES (\(1))", "INSERT INTO item VALUES (\(3))",
            ])
        }
        #expect(failure?.code == .server)
        let count = try await connection.execute("SELECT count(*) AS count FROM item")
        #expect(try count[0].decode("count", as: Int.self) == 0)
    }

    @Test func uniqueViolationNamesConstraintAndLeavesConnectionAlive() async throws {
        let connection = try await TestDatabase.current.connection()
        try await connection.executeScript(
            "CREATE TABLE item (name text CONSTRAINT item_name_unique UNIQUE)"
        )
        let insert: Query = "INSERT INTO item VALUES (\("secret"))"
        _ = try await connection.execute(insert)
        let failure = await #expect(throws: PostgresError.self) {
            try await connection.execute(insert)
        }
        #expect(failure?.sqlState == "23505")
        #expect(failure?.constraint == "item_name_unique")
        #expect(failure?.isRetryable == false)
        #expect(failure?.description.contains("secret") == false)
        #expect(failure?.debugDescription.contains("secret") == false)
        let rows = try await connection.execute("SELECT name FROM item")
        #expect(try rows.map { try $0.decode("name", as: String.self) } == ["secret"])
    }

    @Test func errorOfOneSegmentLeavesItsNeighboursAlone() async throws {
        let connection = try await TestDatabase.current.connection()
        // All are sent before the first answer.
        let held = try await HeldStatement()
        async let first = connection.execute(held.query)
        try await held.waitUntilReached()
        async let before = connection.execute("SELECT \(1) AS value")
        async let wrong = connection.execute("SELECT \(1) / \(0) AS value")
        async let after = connection.execute("SELECT \(2) AS value")
        try await held.letGo()
        _ = try await first
        #expect(try await before[0].decode("value", as: Int.self) == 1)
        #expect(try await after[0].decode("value", as: Int.self) == 2)
        do {
            _ = try await wrong
            Issue.record("a division by zero must fail")
        } catch {
            #expect((error as? PostgresError)?.sqlState == "22012")
        }
    }

    @Test func deferredConstraintFailsTheSegmentAtItsEnd() async throws {
        let connection = try await TestDatabase.current.connection()
        try await connection.executeScript(
            """
            CREATE TABLE item (
                id int8 PRIMARY KEY, other int8 REFERENCES item DEFERRABLE INITIALLY DEFERRED)
            """
        )
        let failure = await #expect(throws: PostgresError.self) {
            try await connection.execute([
                "INSERT INTO item VALUES (\(1), \(9))", "INSERT INTO item VALUES (\(2), \(1))",
            ])
        }
        #expect(failure?.sqlState == "23503")
        let rows = try await connection.execute("SELECT id FROM item")
        #expect(rows.isEmpty)
    }

    @Test func manySegmentsAreAnsweredInOrder() async throws {
        let connection = try await TestDatabase.current.connection { $0.segmentsInFlightMax = 8 }
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<500 {
                group.addTask {
                    let rows = try await connection.execute("SELECT \(number) AS number")
                    return try rows[0].decode("number", as: Int.self) == number
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
    }

    @Test func largeValuesGoBothWaysAtOnce() async throws {
        let connection = try await TestDatabase.current.connection()
        let bytes = [UInt8](repeating: 7, count: 4 << 20)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<6 {
                group.addTask {
                    let rows = try await connection.execute("SELECT \(bytes) AS bytes")
                    return try rows[0].decode("bytes", as: [UInt8].self).count
                }
            }
            for try await count in group { #expect(count == bytes.count) }
        }
    }

    @Test func scriptRunsManyStatementsAsOneTransaction() async throws {
        let connection = try await TestDatabase.current.connection()
        let failure = await #expect(throws: PostgresError.self) {
            try await connection.executeScript(
                "CREATE TABLE one (id int); CREATE TABLE two (id int); SELECT 1 / 0;"
            )
        }
        #expect(failure?.sqlState == "22012")
        let rows = try await connection.execute("SELECT to_regclass('one')::text AS name")
        #expect(try rows[0].decodeIfPresent("name", as: String.self) == nil)
    }

    @Test func scriptWaitsForSegmentsAndLaterOnesWaitForIt() async throws {
        let connection = try await TestDatabase.current.connection()
        try await connection.executeScript("CREATE TABLE item (id int8)")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<20 {
                group.addTask {
                    if number.isMultiple(of: 5) {
                        try await connection.executeScript("INSERT INTO item VALUES (1); SELECT 1")
                    } else {
                        _ = try await connection.execute("INSERT INTO item VALUES (\(number))")
                    }
                }
            }
            try await group.waitForAll()
        }
        let rows = try await connection.execute("SELECT count(*) AS count FROM item")
        #expect(try rows[0].decode("count", as: Int.self) == 20)
    }

    @Test func copyInScriptEndsConnectionInsteadOfHanging() async throws {
        let connection = try await TestDatabase.current.connection()
        let failure = await #expect(throws: PostgresError.self) {
            try await connection.executeScript(
                "CREATE TABLE item (id int); COPY item FROM STDIN"
            )
        }
        #expect(failure?.code == .connectionLost)
    }

    @Test func closeWaitsForWhatIsInFlightAndRefusesWhatComes() async throws {
        let connection = try await TestDatabase.current.connection()
        let held = try await HeldStatement()
        async let slow = connection.execute(held.query)
        try await held.waitUntilReached()
        let isClosed = Mutex(false)
        let closing = Task {
            await connection.close()
            isClosed.withLock { $0 = true }
        }
        let isRefused = Mutex(false)
        let refuse = { @Sendable in isRefused.withLock { $0 = true } }
        try await eventually("what comes is refused") {
            // Statements before the end wait for the held one, and this must not wait for it.
            Task { do { _ = try await connection.execute("SELECT 1 AS one") } catch { refuse() } }
            return isRefused.withLock(\.self)
        }
        #expect(!isClosed.withLock { $0 })
        try await held.letGo()
        await closing.value
        #expect(try await slow.count == 1)
        let failure = await #expect(throws: PostgresError.self) {
            try await connection.execute("SELECT 1 AS one")
        }
        #expect(failure?.code == .connectionFailed)
    }

    @Test func sessionHasItsSettings() async throws {
        let connection = try await TestDatabase.current.connection {
            $0.statementTimeout = .milliseconds(12_345)
            // As in service.
            $0.lockTimeout = ConnectionConfiguration(url: "").lockTimeout
        }
        let rows = try await connection.execute(
            """
            SELECT current_setting('statement_timeout') AS statement,
                current_setting('lock_timeout') AS lock, current_setting('TimeZone') AS zone,
                current_setting('client_encoding') AS encoding, current_schema()::text AS schema,
                current_setting('transaction_isolation') AS isolation
            """
        )
        let row = rows[0]
        #expect(try row.decode("statement") == "12345ms")
        #expect(try row.decode("lock") == "5s")
        #expect(try row.decode("zone") == "UTC")
        #expect(try row.decode("encoding") == "UTF8")
        #expect(try row.decode("schema") == TestDatabase.current.schema)
        #expect(try row.decode("isolation") == "read committed")
    }
}
