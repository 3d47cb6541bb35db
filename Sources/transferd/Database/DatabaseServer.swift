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
    private(set) var configuration: ConnectionConfiguration
    let loop: PollLoop

    /// Opens the database, starting the private cluster if no other database is named.
    ///
    /// `onConnected` is called with the address of the server for each connection to it.
    static func open(
        _ location: DatabaseLocation,
        logger: Logger,
        onConnected: @escaping @Sendable (ServerAddress) -> Void = { _ in }
    ) async throws -> DatabaseServer {
        var server = try await opened(location, logger: logger)
        server.configuration.onConnected = onConnected
        return server
    }

    private static func opened(
        _ location: DatabaseLocation,
        logger: Logger
    ) async throws -> DatabaseServer {
        if let url = location.url {
            let loop = try PollLoop(name: "libpq")
            return DatabaseServer(location: location, cluster: nil, url: url, loop: loop)
        }
        // Others may pass through, as the account of the private cluster must; the files that
        // matter have closed permissions of their own.
        try FileManager.default.createDirectory(
            atPath: location.dataDirectory,
            withIntermediateDirectories: true
        )
        let cluster = try await EmbeddedCluster.start(
            in: location.dataDirectory,
            logger: logger
        )
        let loop = try PollLoop(name: "libpq")
        return DatabaseServer(location: location, cluster: cluster, url: cluster.url, loop: loop)
    }

    private init(
        location: DatabaseLocation,
        cluster: EmbeddedCluster?,
        url: String,
        loop: PollLoop
    ) {
        self.location = location
        self.cluster = cluster
        self.loop = loop
        configuration = ConnectionConfiguration(url: url)
        configuration.serverSettings = Database.serverSettings
        configuration.sharesSessions = location.pooler == .transaction
    }

    /// Whether it is the private cluster in the data directory.
    var isPrivate: Bool { cluster != nil }

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

    /// Runs `body` with a connection of its own.
    ///
    /// It is made like all others or, with `url`, past a pooler.
    func withConnection<Result>(
        past url: String? = nil,
        _ body: (Connection) async throws -> Result
    ) async throws -> Result {
        let configuration = url.map(configuration(past:)) ?? configuration
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

    /// Applies the missing migrations.
    ///
    /// With `url` it goes past a pooler, because through one it can only check whether any are
    /// missing.
    ///
    /// - Returns: the newest migration that this program knows.
    @discardableResult
    func migrate(past url: String? = nil, logger: Logger) async throws -> Int {
        let migrator = try Migrator(folder: location.migrations, logger: logger)
        if location.pooler == .none || url != nil {
            _ = try await withConnection(past: location.pooler == .none ? nil : url) {
                try await migrator.migrate($0)
            }
        } else {
            let count = try await withConnection { try await migrator.pendingCount($0) }
            if count > 0 { throw PoolerError.migrationsMissing(count: count) }
        }
        return migrator.version
    }

    /// Starts the private cluster again if it was killed; does nothing if it runs.
    func revive(logger: Logger) async throws {
        guard cluster != nil else { return }
        _ = try await EmbeddedCluster.start(in: location.dataDirectory, logger: logger)
    }
}
