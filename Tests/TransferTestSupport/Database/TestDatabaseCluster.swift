import EmbeddedPostgres
import EventLoop
import Logging
import Postgres
import Synchronization

/// The PostgreSQL cluster of this test process: started by the first test that needs it, stopped
/// and removed with the directory of the run.
final class TestDatabaseCluster: Sendable {
    static let shared = TestDatabaseCluster()

    /// What a throwaway cluster can do without, and what many tests at once need.
    private static let settings = [
        "fsync": "off", "synchronous_commit": "off", "full_page_writes": "off",
        "max_connections": "300", "shared_buffers": "64MB",
    ]

    /// Never stopped: it ends with the process.
    let loop = Result { () throws(EventLoopError) in try EventLoop(name: "postgres-tests") }
    private let starting = Mutex<Task<String, any Error>?>(nil)

    private init() {}

    /// How to connect; starts the cluster the first time.
    func url() async throws -> String {
        let task = starting.withLock { starting in
            let task = starting ?? Task { try await Self.start() }
            starting = task
            return task
        }
        return try await task.value
    }

    /// Executes statements outside of any test's schema.
    func execute(_ script: String) async throws {
        try await Self.execute(script, at: try await url(), on: try loop.get())
    }

    /// The same, in any database.
    static func execute(_ script: String, at url: String, on loop: EventLoop) async throws {
        let connection = try await Connection.open(ConnectionConfiguration(url: url), on: loop)
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
        return cluster.url
    }
}
