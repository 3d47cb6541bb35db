import Dispatch
import Foundation
import PollLoop
import Postgres
import Synchronization
import Testing
import TransferTestSupport

@Suite(.postgresSchema, .timeLimit(.minutes(5))) struct ConnectionPoolTests {
    private func backendCount(_ connection: Connection) async throws -> Int {
        // The connection that asks is not counted.
        try await connection.execute(
            """
            SELECT count(*) AS count FROM pg_stat_activity
            WHERE application_name = \(TestDatabase.current.schema) AND pid <> pg_backend_pid()
            """
        )[0].decode("count")
    }

    /// Returns once `count` backends wait for the advisory lock 7 of this test.
    private func waitUntilBlocked(_ count: Int, seenBy other: Connection) async throws {
        let blocked: Query = """
            SELECT count(*) AS count FROM pg_stat_activity
            WHERE application_name = \(TestDatabase.current.schema)
                AND wait_event_type = 'Lock' AND wait_event = 'advisory'
            """
        try await eventually("\(count) backends wait") {
            try await other.execute(blocked)[0].decode("count", as: Int.self) >= count
        }
    }

    /// A text that ends its connection.
    private static let manyBytes = String(repeating: "x", count: 3 << 20)

    /// Returns the process that serves the next statement, which has `text`.
    private func backend(
        of pool: ConnectionPool,
        sending text: String = "short"
    ) async throws -> Int {
        try await pool.execute(
            "SELECT pg_backend_pid() AS pid, length(\(text)) AS length"
        )[0].decode("pid")
    }

    private var lockKey: Int64 { Int64(TestDatabase.current.schema.hashValue) }

    @Test func sequentialCallersShareOneConnection() async throws {
        let pool = TestDatabase.current.pool()
        let other = try await TestDatabase.current.connection()
        for _ in 0..<10 { _ = try await pool.execute("SELECT 1 AS one") }
        #expect(try await backendCount(other) == 1)
    }

    /// libpq keeps a buffer of the longest statement for as long as its connection lives.
    @Test func connectionEndsAfterStatementOfManyBytes() async throws {
        let pool = TestDatabase.current.pool(connectionsMax: 1)
        let first = try await backend(of: pool)
        #expect(try await backend(of: pool, sending: Self.manyBytes) == first)
        #expect(try await backend(of: pool) != first)
    }

    /// A new connection knows no statement yet: each of them takes longer once.
    @Test func statementOfManyBytesLeavesTheConnectionsOfOthers() async throws {
        let pool = TestDatabase.current.pool(connectionsMax: 2)
        let first = try await backend(of: pool)
        for _ in 0..<3 {
            #expect(try await backend(of: pool, sending: Self.manyBytes) != first)
            #expect(try await backend(of: pool) == first)
        }
    }

    /// libpq copies a statement of many bytes several times, for which others would wait.
    @Test func statementOfManyBytesIsSentByItsOwnLoop() async throws {
        let loops = (usual: try PollLoop(name: "usual"), long: try PollLoop(name: "long"))
        let pool = TestDatabase.current.pool(connectionsMax: 2, loops: loops)
        _ = try await pool.execute("SELECT 1 AS one")
        let answered = DispatchSemaphore(value: 0)
        let held = Atomic(false)
        loops.usual.execute {
            held.store(true, ordering: .sequentiallyConsistent)
            _ = answered.wait(timeout: .now() + 60)
            held.store(false, ordering: .sequentiallyConsistent)
        }
        try await eventually("the loop is held") { held.load(ordering: .sequentiallyConsistent) }
        let text = Self.manyBytes
        let rows = try await pool.execute("SELECT length(\(text)) AS length")
        let wasHeld = held.load(ordering: .sequentiallyConsistent)
        answered.signal()
        #expect(wasHeld)
        #expect(try rows[0].decode("length", as: Int.self) == text.count)
        await pool.close()
        loops.usual.stop()
        loops.long.stop()
    }

    /// What was opened for a long statement whose caller has left serves another one once.
    @Test func connectionForALongStatementDoesNotStay() async throws {
        let loops = (usual: try PollLoop(name: "usual"), long: try PollLoop(name: "long"))
        let pool = TestDatabase.current.pool(connectionsMax: 2, loops: loops)
        let other = try await TestDatabase.current.connection()
        _ = try await other.execute("SELECT pg_advisory_lock(\(lockKey))")
        async let held = pool.execute("SELECT pg_advisory_lock_shared(\(lockKey))")
        try await waitUntilBlocked(1, seenBy: other)
        let text = Self.manyBytes
        let long = Task {
            // Its caller has left before it could run.
            withUnsafeCurrentTask { $0?.cancel() }
            return try await pool.execute("SELECT length(\(text)) AS length")
        }
        _ = await long.result
        try await eventually("it is open") { pool.usage.open == 2 }
        #expect(try await backend(of: pool) != backend(of: pool))
        #expect(try await backend(of: pool) == backend(of: pool))
        _ = try await other.execute("SELECT pg_advisory_unlock(\(lockKey))")
        _ = try await held
        await pool.close()
        loops.usual.stop()
        loops.long.stop()
    }

    @Test func manyCallersAreServedByFewConnections() async throws {
        let pool = TestDatabase.current.pool(connectionsMax: 3)
        let other = try await TestDatabase.current.connection()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<600 {
                group.addTask {
                    let rows = try await pool.execute("SELECT \(number) AS number")
                    return try rows[0].decode("number", as: Int.self) == number
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
        #expect(try await backendCount(other) <= 3)
    }

    @Test func errorOfOneCallerLeavesThePoolAsItIs() async throws {
        let pool = TestDatabase.current.pool(connectionsMax: 1)
        let failure = await #expect(throws: PostgresError.self) {
            try await pool.execute(["SELECT 1 AS one", "SELECT 1 / \(0) AS wrong"])
        }
        #expect(failure?.sqlState == "22012")
        #expect(try await pool.execute("SELECT 1 AS one").count == 1)
    }

    @Test func waitIsBounded() async throws {
        let pool = TestDatabase.current.pool(
            connectionsMax: 1,
            waitTimeout: .milliseconds(50),
            depthMax: 1
        )
        let other = try await TestDatabase.current.connection()
        // Opening the connection may take longer than a caller waits here.
        try await eventually("the pool serves") {
            (try? await pool.execute("SELECT 1 AS one")) != nil
        }
        _ = try await other.execute("SELECT pg_advisory_lock(\(lockKey))::text AS locked")
        let key = lockKey
        async let holder = pool.execute("SELECT pg_advisory_xact_lock(\(key))::text AS locked")
        try await waitUntilBlocked(1, seenBy: other)
        let failure = await #expect(throws: PostgresError.self) {
            try await pool.execute("SELECT 1 AS one")
        }
        #expect(failure?.code == .poolExhausted)
        _ = try await other.execute("SELECT pg_advisory_unlock(\(lockKey)) AS unlocked")
        _ = try await holder
        #expect(try await pool.execute("SELECT 1 AS one").count == 1)
    }

    @Test func cancelledWaiterLeavesAndInFlightSegmentRunsOn() async throws {
        let pool = TestDatabase.current.pool(connectionsMax: 1, depthMax: 1)
        let other = try await TestDatabase.current.connection()
        try await other.executeScript("CREATE TABLE item (id int8)")
        _ = try await other.execute("SELECT pg_advisory_lock(\(lockKey))::text AS locked")
        let key = lockKey
        let holder = Task {
            try await pool.execute([
                "SELECT pg_advisory_xact_lock(\(key))::text AS locked",
                "INSERT INTO item VALUES (\(1))",
            ])
        }
        try await waitUntilBlocked(1, seenBy: other)
        let waiter = Task { try await pool.execute("SELECT 1 AS one") }
        waiter.cancel()
        holder.cancel()
        let failure = await #expect(throws: PostgresError.self) { try await waiter.value }
        #expect(failure?.code == .cancelled)
        _ = try await other.execute("SELECT pg_advisory_unlock(\(lockKey)) AS unlocked")
        _ = try await holder.value
        #expect(try await pool.execute("SELECT id FROM item").count == 1)
    }

    @Test func terminatedBackendsAreReplaced() async throws {
        let pool = TestDatabase.current.pool(connectionsMax: 2)
        let other = try await TestDatabase.current.connection()
        for _ in 0..<5 {
            _ = try await pool.execute("SELECT 1 AS one")
            _ = try await other.execute(
                """
                SELECT pg_terminate_backend(pid) AS ended FROM pg_stat_activity
                WHERE application_name = \(TestDatabase.current.schema)
                    AND pid <> pg_backend_pid()
                """
            )
            // Statements in flight are lost and early ones fail; then service returns.
            try await eventually("the pool serves") {
                (try? await pool.execute("SELECT 1 AS one")) != nil
            }
        }
    }

    @Test func idleConnectionThatIsDoubtedIsReplaced() async throws {
        let pool = TestDatabase.current.pool(connectionsMax: 1)
        let first = try await backend(of: pool)
        #expect(try await backend(of: pool) == first)
        pool.doubt()
        #expect(try await backend(of: pool) != first)
    }

    @Test func doubtedConnectionInUseIsGivenUpUnlessItAnswers() async throws {
        let pool = TestDatabase.current.pool(connectionsMax: 1)
        let held = try await HeldStatement()
        let query = held.query
        let waiting = Task { try await pool.execute(query) }
        try await held.waitUntilReached()
        pool.doubt(patience: .milliseconds(1))
        let failure = await #expect(throws: PostgresError.self) { try await waiting.value }
        #expect(failure?.code == .deadlineExceeded)
        try await eventually("another connection serves") {
            (try? await pool.execute("SELECT 1 AS one"))?.count == 1
        }
    }

    /// Makes the session of the next statement take no changes, as that of a standby.
    private func makeReadOnly(_ pool: ConnectionPool) async throws {
        _ = try await pool.execute(
            "SELECT set_config('default_transaction_read_only', 'on', false) AS value"
        )
    }

    @Test func connectionThatTakesNoChangesIsReplaced() async throws {
        let pool = TestDatabase.current.pool(connectionsMax: 1)
        let other = try await TestDatabase.current.connection()
        try await other.executeScript("CREATE TABLE item (id int8)")
        try await makeReadOnly(pool)
        let failure = await #expect(throws: PostgresError.self) {
            try await pool.execute("INSERT INTO item VALUES (\(1))")
        }
        #expect(failure?.sqlState == "25006")
        try await eventually("another connection takes the change") {
            (try? await pool.execute("INSERT INTO item VALUES (\(1))")) != nil
        }
    }

    @Test func idleConnectionThatTakesNoChangesIsReplaced() async throws {
        let pool = TestDatabase.current.pool(connectionsMax: 1)
        let other = try await TestDatabase.current.connection()
        let first = try await backend(of: pool)
        try await makeReadOnly(pool)
        let running = Task { await pool.run() }
        // Nobody uses the pool meanwhile, so that it is idle at the first ping.
        try await eventually("its session has ended") {
            try await other.execute(
                "SELECT 1 AS one FROM pg_stat_activity WHERE pid = \(first)"
            ).isEmpty
        }
        try await eventually("the pool serves") {
            (try? await pool.execute("SELECT 1 AS one"))?.count == 1
        }
        running.cancel()
        await running.value
    }

    @Test func serverThatIsDownFailsCallersQuickly() async throws {
        let pool = ConnectionPool(
            configuration: ConnectionConfiguration(url: "host=/nonexistent"),
            loop: TestDatabase.current.loop
        )
        for _ in 0..<3 {
            let failure = await #expect(throws: PostgresError.self) {
                try await pool.execute("SELECT 1 AS one")
            }
            #expect(failure?.code == .connectionFailed)
            #expect(failure?.isUnavailable == true)
        }
        await pool.close()
    }

    @Test func runOpensFirstConnectionAndClosesAllWhenCancelled() async throws {
        let pool = TestDatabase.current.pool()
        let other = try await TestDatabase.current.connection()
        let running = Task { await pool.run() }
        try await eventually("the first is open") { try await backendCount(other) > 0 }
        running.cancel()
        await running.value
        let failure = await #expect(throws: PostgresError.self) {
            try await pool.execute("SELECT 1 AS one")
        }
        #expect(failure?.code == .poolClosed)
        try await eventually("all are closed") { try await backendCount(other) == 0 }
    }

    @Test func badValueCostsNoConnection() async throws {
        let pool = TestDatabase.current.pool()
        let other = try await TestDatabase.current.connection()
        let failure = await #expect(throws: PostgresError.self) {
            try await pool.execute("SELECT \("a\0")")
        }
        #expect(failure?.code == .encoding)
        #expect(try await backendCount(other) == 0)
    }
}
