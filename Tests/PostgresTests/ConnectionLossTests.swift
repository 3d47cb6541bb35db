import PollLoop
import Foundation
@testable import Postgres
import Synchronization
import Testing
import TransferTestSupport

@Suite(.postgresSchema, .timeLimit(.minutes(5))) struct ConnectionLossTests {
    private func processID(_ connection: Connection) async throws -> Int32 {
        try await connection.execute("SELECT pg_backend_pid() AS pid")[0].decode("pid")
    }

    @Test func terminatedBackendLosesEverySegmentInFlight() async throws {
        let connection = try await TestDatabase.current.connection()
        let other = try await TestDatabase.current.connection()
        let pid = try await processID(connection)
        let held = try await HeldStatement()
        async let first = connection.execute(held.query)
        try await held.waitUntilReached()
        async let second = connection.execute("SELECT 1 AS one")
        _ = try await other.execute("SELECT pg_terminate_backend(\(pid))")
        var failures: [PostgresError] = []
        do { _ = try await first } catch { failures.append(try #require(error as? PostgresError)) }
        do { _ = try await second } catch { failures.append(try #require(error as? PostgresError)) }
        #expect(failures.first?.code == .connectionLost)
        #expect(failures.first?.sqlState == "57P01")
        // The second one may have come too late to be sent at all.
        #expect(failures.count == 2)
        #expect(failures.allSatisfy { $0.isUnavailable && $0.isRetryable })
    }

    @Test func everySegmentInFlightIsToldTheReasonOfTheServer() async throws {
        let connection = try await TestDatabase.current.connection()
        let other = try await TestDatabase.current.connection()
        let pid = try await processID(connection)
        let held = try await HeldStatement()
        let sentBefore = await connection.segmentCount
        async let first = connection.execute(held.query)
        async let second = connection.execute(held.query)
        try await held.waitUntilReached()
        try await eventually("both are sent") {
            await connection.segmentCount == sentBefore + 2
        }
        _ = try await other.execute("SELECT pg_terminate_backend(\(pid))")
        var reasons: [String] = []
        do { _ = try await first } catch {
            reasons.append(try #require(error as? PostgresError).reason)
        }
        do { _ = try await second } catch {
            reasons.append(try #require(error as? PostgresError).reason)
        }
        let reason = "terminating connection due to administrator command"
        #expect(reasons == [reason, reason])
    }

    /// It would be sent again otherwise, and may have happened.
    @Test func whatIsInFlightIsLostHoweverTheConnectionEnds() async throws {
        let connection = try await TestDatabase.current.connection()
        let held = try await HeldStatement()
        async let answer = connection.execute(held.query)
        try await held.waitUntilReached()
        connection.loop.execute {
            connection.assumeIsolated { $0.end(.connectionFailed, "the test ends it") }
        }
        var code: PostgresError.Code?
        do { _ = try await answer } catch { code = try #require(error as? PostgresError).code }
        #expect(code == .connectionLost)
    }

    @Test func idleConnectionNoticesItsEnd() async throws {
        let connection = try await TestDatabase.current.connection()
        let other = try await TestDatabase.current.connection()
        let pid = try await processID(connection)
        _ = try await other.execute("SELECT pg_terminate_backend(\(pid))")
        for await _ in connection.notifications {}
        let failure = await #expect(throws: PostgresError.self) {
            try await connection.execute("SELECT 1 AS one")
        }
        #expect(failure?.code == .connectionFailed)
    }

    /// Runs the parts of a task on the threads that hand them to it, at once.
    private final class SameThread: TaskExecutor {
        static let shared = SameThread()

        func enqueue(_ job: consuming ExecutorJob) {
            UnownedJob(job).runSynchronously(on: asUnownedTaskExecutor())
        }
    }

    /// How calls have ended; nil stands for an answer.
    private final class Ends: Sendable {
        let codes = Mutex<[PostgresError.Code?]>([])
    }

    /// Ends a connection on its loop, after `turns` turns of others.
    private static func end(_ connection: Connection, after turns: Int) {
        connection.loop.execute {
            guard turns > 0 else {
                return connection.assumeIsolated { $0.end(.connectionLost, "the test ends it") }
            }
            Self.end(connection, after: turns - 1)
        }
    }

    /// A task that prefers an executor, as those of requests do, gives up the loop within a call.
    @Test(arguments: 0..<6)
    func everyCallEndsWhoseConnectionEndsWithinIt(turns: Int) async throws {
        let connection = try await TestDatabase.current.connection()
        let ends = Ends()
        connection.loop.execute {
            // The call's first part is posted here, the end of the connection behind it.
            Task(executorPreference: SameThread.shared) {
                var code: PostgresError.Code?
                do throws(PostgresError) {
                    _ = try await connection.execute("SELECT 1 AS one")
                } catch {
                    code = error.code
                }
                let end = code
                ends.codes.withLock { $0.append(end) }
            }
            Self.end(connection, after: turns)
        }
        try await eventually("the call ends") { ends.codes.withLock { !$0.isEmpty } }
        let codes: [PostgresError.Code?] = [nil, .connectionFailed, .connectionLost]
        #expect(ends.codes.withLock { $0.allSatisfy { codes.contains($0) } })
    }

    @Test func missedDeadlineGivesTheConnectionUp() async throws {
        let connection = try await TestDatabase.current.connection {
            $0.queryDeadline = .milliseconds(100)
        }
        let held = try await HeldStatement()
        let failure = await #expect(throws: PostgresError.self) {
            try await connection.execute(held.query)
        }
        #expect(failure?.code == .deadlineExceeded)
        let later = await #expect(throws: PostgresError.self) {
            try await connection.execute("SELECT 1 AS one")
        }
        #expect(later?.code == .connectionFailed)
    }

    @Test func deadlineCountsForEachSegmentAnew() async throws {
        let deadline = Duration.seconds(15)
        let connection = try await TestDatabase.current.connection { $0.queryDeadline = deadline }
        // Together they take longer than the deadline, but each stays far below it however busy the
        // machine is: the time itself is under test, for which there is no signal.
        let start = ContinuousClock.now
        while .now - start <= deadline {
            _ = try await connection.execute("SELECT pg_sleep(0.5)::text AS slept")
        }
    }

    @Test func deadlineOfASegmentInFlightCountsFromItsTurn() async throws {
        let deadline = Duration.seconds(10)
        let connection = try await TestDatabase.current.connection { $0.queryDeadline = deadline }
        // All are in flight at once, and the others take longer than the deadline of the last one.
        let start = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<24 {
                group.addTask {
                    _ = try await connection.execute("SELECT pg_sleep(0.5)::text AS slept")
                }
            }
            try await group.waitForAll()
        }
        #expect(ContinuousClock.now - start > deadline)
    }

    @Test func statementTimeoutOfServerLeavesConnectionAlive() async throws {
        let connection = try await TestDatabase.current.connection {
            $0.statementTimeout = .milliseconds(50)
        }
        let held = try await HeldStatement()
        let failure = await #expect(throws: PostgresError.self) {
            try await connection.execute(held.query)
        }
        #expect(failure?.sqlState == "57014")
        // This has no more time either. A connection that is lost would never serve again.
        try await eventually("it serves") {
            (try? await connection.execute("SELECT 1 AS one"))?.count == 1
        }
    }

    @Test(arguments: [
        "host=/nonexistent dbname=x", "postgres://[", "nonsense", "host=127.0.0.1 port=1",
    ])
    func unreachableServerFails(url: String) async throws {
        let failure = await #expect(throws: PostgresError.self) {
            _ = try await Connection.open(
                ConnectionConfiguration(url: url),
                on: TestDatabase.current.loop
            )
        }
        #expect(failure?.code == .connectionFailed)
    }

    @Test func silentServerFailsAfterTheConnectTimeout() async throws {
        let listener = try SilentListener()
        var configuration = ConnectionConfiguration(url: "host=127.0.0.1 port=\(listener.port)")
        configuration.connectTimeout = .milliseconds(100)
        let failure = await #expect(throws: PostgresError.self) {
            _ = try await Connection.open(configuration, on: TestDatabase.current.loop)
        }
        #expect(failure?.code == .connectionFailed)
    }

    @Test func connectionThatNobodyHoldsEndsItsSession() async throws {
        let watcher = try await TestDatabase.current.connection()
        var configuration = TestDatabase.current.configuration
        configuration.applicationName = "dropped_\(UUID())"
        do {
            let connection = try await Connection.open(
                configuration,
                on: TestDatabase.current.loop
            )
            _ = try await connection.execute("SELECT 1 AS one")
        }
        let sessions: Query = """
            SELECT 1 AS one FROM pg_stat_activity
            WHERE application_name = \(configuration.applicationName)
            """
        try await eventually("its session has ended") {
            try await watcher.execute(sessions).isEmpty
        }
    }
}
