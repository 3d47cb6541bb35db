import EmbeddedPostgres
import PollLoop
import Logging
import Postgres
import Synchronization

/// The PostgreSQL cluster of this test process.
///
/// The first test that needs it starts it; it is stopped and removed together with the directory of
/// the run.
final class TestDatabaseCluster: Sendable {
    static let shared = TestDatabaseCluster()

    /// Settings that omit what a temporary cluster does not need and allow many simultaneous tests.
    private static let settings = [
        "fsync": "off", "synchronous_commit": "off", "full_page_writes": "off",
        "max_connections": "300", "shared_buffers": "64MB",
    ]

    /// The event loop, which is never stopped: it ends with the process.
    let loop = Result { () throws(PollLoopError) in try PollLoop(name: "postgres-tests") }
    private let starting = Mutex<Task<String, any Error>?>(nil)

    private init() {}

    /// Returns the URL of the cluster, which the first call starts.
    func url() async throws -> String {
        let task = starting.withLock { starting in
            let task = starting ?? Task { try await Self.start() }
            starting = task
            return task
        }
        return try await task.value
    }

    /// Executes statements outside any test's schema.
    func execute(_ script: String) async throws {
        try await Self.execute(script, at: try await url(), on: try loop.get())
    }

    /// Executes statements in any database.
    static func execute(_ script: String, at url: String, on loop: PollLoop) async throws {
        let connection = try await Connection.open(
            ConnectionConfiguration(ofTestsTo: url),
            on: loop
        )
        do {
            try await connection.executeScript(script)
        } catch {
            await connection.close()
            throw error
        }
        await connection.close()
    }

    private static func start() async throws -> String {
        let cluster = try await EmbeddedCluster.start(
            in: RunDirectory.path,
            settings: settings,
            logger: Logger(label: "test-database")
        )
        try await execute(
            "CREATE ROLE \(Query.quoted(identifier: TestDatabase.serviceRole))",
            at: cluster.url,
            on: try shared.loop.get()
        )
        return cluster.url
    }
}
