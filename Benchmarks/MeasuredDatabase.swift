import EmbeddedPostgres
import PollLoop
import Foundation
import Logging
import Postgres
import TransferModel
import TransferStore

/// A PostgreSQL with the settings that the service gives its own, used by services, by the store
/// alone and by peers.
struct MeasuredDatabase {
    /// The URL with which libpq connects to it.
    let url: String
    /// A key for the API of services on it.
    let key: String
    /// The directory for the files of all services on it.
    let data: String
    /// The directory of its socket.
    let host: String
    /// The name of its user.
    let user: String
    /// The stores, used without a service.
    let sessions: SessionStore
    let submissions: SubmissionStore
    let workers: WorkerStore
    let queue: QueueStore
    let completions: CompletionStore
    let timers: TimerStore
    /// The tenant of ``key``.
    let tenant: TenantID
    /// A connection for observing the server while others work.
    let aside: Connection
    private let cluster: EmbeddedCluster
    private let pool: ConnectionPool
    private let loop: PollLoop

    /// The name of the database for peers, which keeps their tables apart from the others.
    static let peers = "peers"
    /// The number of connections that the peers and four services open.
    private static let connectionsMax = "300"
    private static let tenantName = "default"
    /// The maximum number of connections of the store.
    private static let storeConnectionsMax = 8
    /// The time limit for statements that make ten million rows.
    private static let longest: Duration = .seconds(7200)

    init(program: String, folder: Folder) async throws {
        data = try folder.directory("database")
        let logger = Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }
        cluster = try await EmbeddedCluster.start(
            in: data,
            settings: [
                "max_connections": Self.connectionsMax,
                // It reports what each statement read, for all contenders alike.
                "shared_preload_libraries": "pg_stat_statements",
            ],
            logger: logger
        )
        url = cluster.url
        // Services on one database share a key for secrets, and make none themselves.
        let secretsKey = String(repeating: "5c", count: 32)
        guard
            FileManager.default.createFile(
                atPath: "\(data)/secrets-key",
                contents: Data(secretsKey.utf8),
                attributes: [.posixPermissions: 0o600]
            )
        else { throw Program.Failure(description: "\(data)/secrets-key cannot be written") }
        // This command migrates the database too.
        let answer = try Program.output(
            program,
            [
                "keys", "create", "--tenant", Self.tenantName, "--database-url", url,
                "--data-directory", data,
            ]
        )
        key = answer.trimmingCharacters(in: .whitespacesAndNewlines)
        loop = try PollLoop(name: "bench-libpq")
        var configuration = ConnectionConfiguration(url: url)
        configuration.serverSettings = Database.serverSettings
        pool = ConnectionPool(
            configuration: configuration,
            connectionsMax: Self.storeConnectionsMax,
            loop: loop
        )
        let database = Database(pool: pool)
        sessions = SessionStore(database)
        submissions = SubmissionStore(database)
        workers = WorkerStore(database)
        queue = QueueStore(database)
        completions = CompletionStore(database)
        timers = TimerStore(database)
        tenant = try await KeyStore(database).createAPIKey(
            NewAPIKey(
                id: "bench",
                secretSHA256: Array(repeating: 0, count: 32),
                name: "bench"
            ),
            tenantName: Self.tenantName
        )
        aside = try await Self.connection(to: url, on: loop)
        (host, user) = try await Self.address(aside)
        try await makePeers()
    }

    /// Starts a database for `body`, and stops it however `body` ends.
    static func with(
        program: String,
        folder: Folder,
        _ body: (MeasuredDatabase) async throws -> Void
    ) async throws {
        let database = try await MeasuredDatabase(program: program, folder: folder)
        do {
            try await body(database)
        } catch {
            await database.stop()
            throw error
        }
        await database.stop()
    }

    /// Opens another connection, which may run long statements, with the server settings `settings`
    /// by name.
    func connection(_ settings: [String: String] = [:]) async throws -> Connection {
        try await Self.connection(to: url, on: loop, settings)
    }

    private static func connection(
        to url: String,
        on loop: PollLoop,
        _ settings: [String: String] = [:]
    ) async throws -> Connection {
        var configuration = ConnectionConfiguration(url: url)
        configuration.statementTimeout = .zero
        configuration.queryDeadline = longest
        configuration.scriptDeadline = longest
        configuration.serverSettings = settings
        return try await Connection.open(configuration, on: loop)
    }

    func stop() async {
        await pool.close()
        await aside.close()
        await cluster.stop()
    }
}
