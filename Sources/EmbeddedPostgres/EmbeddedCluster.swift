package import Logging
import PollLoop

/// A private PostgreSQL server in our data directory, reachable by a Unix socket only.
///
/// Every user who reaches the socket is trusted. Its directory has mode 0700 and belongs to the
/// account that runs the server, so only that account and root get there; both can read and change
/// the files of the cluster anyway, password or not. Matching names (`peer`) would not work for us
/// as root, when the server runs as another user.
///
/// Several processes may use one cluster, such as a command beside the running service: the first
/// one starts it, and the last one to stop stops it. After a kill -9 it keeps running and is taken
/// over by the next start. These processes may be in different containers: then the server ends
/// with the one that has it, and an instance in another starts it again.
package struct EmbeddedCluster: Sendable {
    private let server: ClusterServer
    private let logger: Logger

    /// Starts the cluster, or takes over the one that runs; the first time, it is created.
    ///
    /// - Parameters:
    ///   - dataDirectory: gets `postgres`, `postgres.log`, `run` and three lock files.
    ///   - settings: of `postgresql.conf`, besides or instead of ours. A cluster that is taken over
    ///     keeps those it was started with.
    ///   - mayCreate: whether a missing cluster is made; otherwise nothing is made, no directory.
    ///   - logger: is told what happens.
    /// - Returns: the cluster, which accepts connections.
    /// - Throws: what stands in the way, and the way out.
    package static func start(
        in dataDirectory: String,
        settings: [String: String] = [:],
        mayCreate: Bool = true,
        logger: Logger
    ) async throws(EmbeddedPostgresError) -> EmbeddedCluster {
        let server = try await onOwnThread { () throws(EmbeddedPostgresError) in
            if !mayCreate { try ClusterServer.requireCluster(in: dataDirectory) }
            let server = try ClusterServer(directory: dataDirectory, settings: settings)
            try server.start(logger, mayCreate: mayCreate)
            return server
        }
        return EmbeddedCluster(server: server, logger: logger)
    }

    /// Throws what is missing on this machine for a cluster to be made.
    package static func checkMachine() throws(EmbeddedPostgresError) {
        try ClusterServer.checkMachine()
    }

    /// Starts the server again if it was killed; does nothing if it runs.
    ///
    /// It never creates a cluster: an empty one would take the place of one whose disk is not
    /// mounted.
    package func revive() async throws(EmbeddedPostgresError) {
        try await onOwnThread { () throws(EmbeddedPostgresError) in
            try server.requireData()
            // With locks of its own, which keep it apart from a stop.
            let another = try ClusterServer(directory: server.layout.directory, settings: [:])
            try another.start(logger, mayCreate: false)
        }
    }

    /// How many connections under load the memory bears, beside one instance; at least two.
    package var connectionsMax: Int { ClusterSettings.connectionsMax(memoryBytes: Memory.bytes) }

    /// The connection string with which libpq connects to it as its superuser, who owns everything.
    package var url: String { url(of: ClusterLayout.userName) }

    /// Returns the connection string of another role that exists.
    package func url(of role: String) -> String { server.layout.url(of: role) }

    /// Stops the server if no other process uses it; connections end, and commits are safe.
    package func stop() async {
        do throws(EmbeddedPostgresError) {
            try await onOwnThread { () throws(EmbeddedPostgresError) in try server.stop(logger) }
        } catch {
            // If left running, it is taken over by the next start.
            logger.error("PostgreSQL could not be stopped", metadata: ["error": "\(error)"])
        }
    }
}
