import EmbeddedPostgres
import PollLoop
import Foundation
import Logging
import Postgres
import TransferStore

/// The database of a command, ready for use: running, reachable and migrated.
struct DatabaseServer: Sendable {
    let location: DatabaseLocation
    /// The private cluster, if it is one.
    private let cluster: EmbeddedCluster?
    /// The configuration of connections with the rights of the service, which may be fewer.
    private(set) var configuration: ConnectionConfiguration
    /// The configuration of connections with the rights of the schema's owner, as far as known.
    private(set) var ownerConfiguration: ConnectionConfiguration
    let loop: PollLoop

    /// Opens the database, starting the private cluster if no other database is named.
    ///
    /// - Parameters:
    ///   - location: of the database.
    ///   - mayCreate: whether a missing private cluster is made.
    ///   - logger: is told what happens.
    ///   - onConnected: called with the address of the server for each connection to it.
    /// - Returns: the database, not yet migrated.
    /// - Throws: what stands in the way.
    static func open(
        _ location: DatabaseLocation,
        mayCreate: Bool = true,
        logger: Logger,
        onConnected: @escaping @Sendable (ServerAddress) -> Void = { _ in }
    ) async throws -> DatabaseServer {
        var server = try await opened(location, mayCreate: mayCreate, logger: logger)
        server.configuration.onConnected = onConnected
        server.ownerConfiguration.onConnected = onConnected
        return server
    }

    private static func opened(
        _ location: DatabaseLocation,
        mayCreate: Bool,
        logger: Logger
    ) async throws -> DatabaseServer {
        if let url = location.url {
            let loop = try PollLoop(name: "libpq")
            return DatabaseServer(location, cluster: nil, url: url, ownerURL: url, loop: loop)
        }
        // Others may pass through, as the account of the private cluster must; the files that
        // matter have closed permissions of their own.
        if mayCreate { try UnwritableDirectory.make(location.dataDirectory) }
        let cluster = try await EmbeddedCluster.start(
            in: location.dataDirectory,
            mayCreate: mayCreate,
            logger: logger
        )
        let loop = try PollLoop(name: "libpq")
        return DatabaseServer(
            location,
            cluster: cluster,
            url: cluster.url(of: ServiceRole.nameInPrivateCluster),
            ownerURL: cluster.url,
            loop: loop
        )
    }

    private init(
        _ location: DatabaseLocation,
        cluster: EmbeddedCluster?,
        url: String,
        ownerURL: String,
        loop: PollLoop
    ) {
        self.location = location
        self.cluster = cluster
        self.loop = loop
        func configuration(_ url: String) -> ConnectionConfiguration {
            var configuration = ConnectionConfiguration(url: url)
            configuration.serverSettings = Database.serverSettings
            configuration.sharesSessions = location.pooler == .transaction
            return configuration
        }
        self.configuration = configuration(url)
        ownerConfiguration = configuration(ownerURL)
    }

    /// Whether it is the private cluster in the data directory.
    var isPrivate: Bool { cluster != nil }

    /// Makes the pool of an instance; long statements are sent by a thread that gives way to
    /// others.
    ///
    /// To a private cluster it has as many connections as the memory bears.
    func pool() throws(PollLoopError) -> ConnectionPool {
        let loopForLong = try PollLoop(name: "libpq-long")
        loopForLong.execute { Priority.lower() }
        return ConnectionPool(
            configuration: configuration,
            connectionsMax: min(
                ConnectionPool.connectionsMaxDefault,
                cluster?.connectionsMax ?? .max
            ),
            loop: loop,
            loopForLong: loopForLong
        )
    }

    /// Returns the configuration of the connection on which instances signal what they did.
    ///
    /// - Parameter url: leads past a pooler that the other connections use; nil to go as they do.
    /// - Returns: settings for a connection that is mostly idle.
    func signalConfiguration(_ url: String?) -> ConnectionConfiguration {
        var configuration = configuration
        if let url { configuration = self.configuration(past: url) }
        configuration.applicationName = "transferd signals"
        // Otherwise each `NOTIFY` has a transaction that is flushed to the disk, for nothing.
        configuration.serverSettings = ["synchronous_commit": "off"]
        configuration.statementTimeout = .seconds(5)
        configuration.queryDeadline = .seconds(10)
        return configuration
    }

    /// Returns the configuration of a connection past a pooler.
    private func configuration(past url: String) -> ConnectionConfiguration {
        var configuration = ConnectionConfiguration(url: url)
        configuration.onConnected = self.configuration.onConnected
        return configuration
    }

    /// Stops the private cluster, unless another process still uses it.
    func close() async { await cluster?.stop() }

    /// Runs `body` with a connection of its own that has the rights of the schema's owner, as far
    /// as known.
    ///
    /// It is made like all others or, with `url`, past a pooler.
    func withConnection<Result>(
        past url: String? = nil,
        _ body: (Connection) async throws -> Result
    ) async throws -> Result {
        try await withConnection(url.map(configuration(past:)) ?? ownerConfiguration, body)
    }

    /// Runs `body` with a connection of its own that is made by a configuration.
    func withConnection<Result>(
        _ configuration: ConnectionConfiguration,
        _ body: (Connection) async throws -> Result
    ) async throws -> Result {
        let connection = try await Connection.open(configuration, on: loop)
        do {
            let result = try await body(connection)
            await connection.close()
            return result
        } catch {
            await connection.close()
            throw error
        }
    }

    /// Runs `body` with the database as the stores see it, through one connection that is made by a
    /// configuration.
    func withDatabase<Result>(
        by configuration: ConnectionConfiguration,
        settings: StoreSettings = StoreSettings(),
        _ body: (Database) async throws -> Result
    ) async throws -> Result {
        let pool = ConnectionPool(configuration: configuration, connectionsMax: 1, loop: loop)
        do {
            let result = try await body(Database(pool: pool, settings: settings))
            await pool.close()
            return result
        } catch {
            await pool.close()
            throw error
        }
    }

    /// Applies the missing migrations, and makes the service's role in a private cluster.
    ///
    /// With `url` it goes past a pooler, because through one it can only check whether any are
    /// missing; likewise with a role that may define nothing.
    ///
    /// - Returns: the newest migration that this program knows.
    @discardableResult
    func migrate(past url: String? = nil, logger: Logger) async throws -> Int {
        let migrator = try Migrator(folder: location.migrations, logger: logger)
        let isDirect = location.pooler == .none || url != nil
        try await withConnection(past: location.pooler == .none ? nil : url) { connection in
            let count = try await migrator.pendingCount(connection)
            if count > 0 {
                guard isDirect else { throw PoolerError.migrationsMissing(count: count) }
                guard try await ServiceRole.rights(connection) != .rows else {
                    throw MigratorError.ownerNeeded(count: count)
                }
                try await migrator.migrate(connection)
            }
            guard isPrivate else { return }
            let role = ServiceRole(name: ServiceRole.nameInPrivateCluster)
            if try await !role.isGranted(connection) {
                try await role.create(connection)
                try await role.grant(connection)
            }
        }
        return migrator.version
    }

    /// Returns what the service's role may do to the schema.
    func rights() async throws -> ServiceRole.Rights {
        try await withConnection(configuration) { try await ServiceRole.rights($0) }
    }

    /// Returns whether every role of the server may drop partitions of the logs.
    func isEverybodys() async throws -> Bool {
        try await withConnection(configuration) { try await ServiceRole.isEverybodys($0) }
    }

    /// Starts the private cluster again if it was killed; does nothing if it runs.
    func revive() async throws {
        try await cluster?.revive()
    }
}
