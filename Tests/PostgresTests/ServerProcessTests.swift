import ChildProcess
import CLinux
import Glibc
import PollLoop
@testable import Postgres
import Testing
import TransferTestSupport

/// Long statements give way to whoever wakes: the server's process has the longest time slice
/// meanwhile, and the usual one afterwards.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct ServerProcessTests {
    private static let longest = Int64(CLINUX_LONGEST_TIME_SLICE)
    private static let long = String(repeating: "x", count: Query.longBytes)

    /// Lets a statement wait for its lock for as long as other tests keep this one from going on.
    private static let patience: Query = "SELECT set_config('lock_timeout', '0', true)"

    /// Whether the kernel has time slices that a thread can choose (Linux 6.12).
    private static let hasTimeSlices: Bool = {
        let before = clinux_time_slice(0)
        _ = clinux_set_time_slice(0, CLINUX_LONGEST_TIME_SLICE)
        defer { _ = clinux_set_time_slice(0, 0) }
        return clinux_time_slice(0) == longest && before != longest
    }()

    private func process(of connection: Connection) async throws -> pid_t {
        let rows = try await connection.execute("SELECT pg_backend_pid() AS process")
        return pid_t(try rows[0].decode("process", as: Int32.self))
    }

    /// Runs `body` while the server waits in a statement with this value.
    private func duringStatement(
        with value: String,
        on connection: Connection,
        _ body: () async throws -> Void
    ) async throws {
        let held = try await HeldStatement()
        async let rows = connection.execute([
            Self.patience, held.query, "SELECT \(value) AS value",
        ])
        try await held.waitUntilReached()
        try await body()
        try await held.letGo()
        #expect(try await rows[2][0].decode("value") == value)
    }

    @Test(.enabled(if: hasTimeSlices)) func aLongStatementYieldsUntilItsEnd() async throws {
        let connection = try await TestDatabase.current.connection()
        let process = try await process(of: connection)
        let usual = clinux_time_slice(process)
        #expect(usual > 0 && usual < Self.longest)
        try await duringStatement(with: Self.long, on: connection) {
            #expect(clinux_time_slice(process) == Self.longest)
        }
        #expect(clinux_time_slice(process) == usual)
    }

    @Test(.enabled(if: hasTimeSlices)) func aShortStatementDoesNotYield() async throws {
        let connection = try await TestDatabase.current.connection()
        let process = try await process(of: connection)
        let usual = clinux_time_slice(process)
        try await duringStatement(with: String(Self.long.dropLast(1)), on: connection) {
            #expect(clinux_time_slice(process) == usual)
        }
    }

    @Test(.enabled(if: hasTimeSlices)) func yieldsUntilTheLastLongStatement() async throws {
        let connection = try await TestDatabase.current.connection()
        let process = try await process(of: connection)
        let (first, second) = try await (HeldStatement(), HeldStatement())
        async let one = connection.execute([
            Self.patience, first.query, "SELECT \(Self.long) AS value",
        ])
        try await first.waitUntilReached()
        async let other = connection.execute([
            Self.patience, second.query, "SELECT \(Self.long) AS value",
        ])
        try await eventually("both are sent") { await connection.inFlight.count == 2 }
        try await first.letGo()
        _ = try await one
        #expect(clinux_time_slice(process) == Self.longest)
        try await second.letGo()
        _ = try await other
        #expect(clinux_time_slice(process) < Self.longest)
    }

    @Test(.enabled(if: hasTimeSlices)) func failedLongStatementEndsIt() async throws {
        let connection = try await TestDatabase.current.connection()
        let process = try await process(of: connection)
        await #expect(throws: PostgresError.self) {
            try await connection.execute("SELECT 1 / length(\(Self.long)) / 0 AS value")
        }
        #expect(clinux_time_slice(process) < Self.longest)
    }

    /// The number that a server tells is one of its own machine, or namespace of processes, where
    /// any other process may have it here.
    @Test func onlyChildrenOfTheListenerAreTaken() async throws {
        var ends: [Int32] = [-1, -1]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        defer { for end in ends { close(end) } }
        // Of a pair, this process counts as the one that listens.
        #expect(ServerProcess(getpid(), on: ends[0]) == nil)
        #expect(ServerProcess(getppid(), on: ends[0]) == nil)
        #expect(ServerProcess(0, on: ends[0]) == nil)
        #expect(ServerProcess(-1, on: ends[0]) == nil)
        let child = try ChildProcess("/bin/sleep", ["60"])
        defer { kill(child.pid, SIGKILL) }
        #expect(ServerProcess(child.pid, on: ends[0])?.identifier == child.pid)
        let internet = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(internet) }
        #expect(ServerProcess(child.pid, on: internet) == nil)
    }
}
