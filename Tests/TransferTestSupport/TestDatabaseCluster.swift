import EmbeddedPostgres
import EventLoop
import Foundation
import Logging
import Postgres
import Synchronization

/// The PostgreSQL cluster of this test process: started by the first test that needs it, stopped
/// and removed when the process exits.
final class TestDatabaseCluster: Sendable {
    static let shared = TestDatabaseCluster()

    private static let directoryPrefix = "transferd-tests-"
    static let directory = "/tmp/\(directoryPrefix)\(getpid())"
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
        let configuration = ConnectionConfiguration(url: try await url())
        let connection = try await Connection.open(configuration, on: try loop.get())
        do {
            try await connection.executeScript(script)
        } catch {
            await connection.close()
            throw error
        }
        await connection.close()
    }

    private static func start() async throws -> String {
        removeThoseOfDeadProcesses()
        // Registered first, so that a cluster that starts half is removed too.
        atexit { TestDatabaseCluster.remove(TestDatabaseCluster.directory) }
        let cluster = try await EmbeddedCluster.start(
            in: directory,
            settings: settings,
            logger: Logger(label: "test-database")
        )
        return cluster.url
    }

    /// A run that was killed leaves its cluster behind.
    private static func removeThoseOfDeadProcesses() {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/tmp")) ?? []
        for name in names where name.hasPrefix(directoryPrefix) {
            guard let owner = pid_t(name.dropFirst(directoryPrefix.count)) else { continue }
            if kill(owner, 0) != 0, errno == ESRCH { remove("/tmp/\(name)") }
        }
    }

    /// Stops the server without a checkpoint, as nobody will read its files again.
    private static func remove(_ directory: String) {
        let data = "\(directory)/postgres"
        let text = (try? String(contentsOfFile: "\(data)/postmaster.pid", encoding: .utf8)) ?? ""
        if let server = text.split(separator: "\n").first.flatMap({ pid_t($0) }),
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(server)/cwd"))
                == data
        {
            kill(server, SIGQUIT)
            for _ in 0..<2_000 where kill(server, 0) == 0 { usleep(1_000) }
        }
        try? FileManager.default.removeItem(atPath: directory)
    }
}
