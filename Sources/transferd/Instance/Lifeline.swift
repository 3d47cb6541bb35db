import PollLoop
import Postgres
import TransferStore

/// Connections for the heartbeats of the instance, separate from the load's.
///
/// They have a loop of their own and carry its heartbeat, the readiness check, and the rescue of
/// others. Behind the load of a busy instance each of them would come late, and a living instance
/// would count as dead.
struct Lifeline: Sendable {
    /// The number of connections for what may take long, such as a rescue.
    private static let connectionsMax = 2

    let pool: ConnectionPool
    let database: Database
    /// The pool of the one connection that carries heartbeats and readiness checks.
    let pulsePool: ConnectionPool
    /// The database by way of that connection.
    let pulse: Database

    init(_ server: DatabaseServer, settings: StoreSettings) throws {
        let loop = try PollLoop(name: "lifeline")
        var configuration = server.configuration
        configuration.applicationName = "transferd lifeline"
        pool = ConnectionPool(
            configuration: configuration,
            connectionsMax: Self.connectionsMax,
            loop: loop
        )
        database = Database(pool: pool, settings: settings)
        pulsePool = ConnectionPool(
            configuration: Self.ofPulse(configuration),
            // The next check finds out that it is silent, and the heartbeat behind it fails too.
            connectionsMax: 1,
            loop: loop
        )
        pulse = Database(pool: pulsePool, settings: settings)
    }

    /// Returns the configuration of a connection that is given up soon after it has become silent,
    /// so that a heartbeat on the next one arrives within the lease.
    ///
    /// Usually a check finds it out, 2.9 s later. At worst the heartbeat itself does, 3.6 s after
    /// the last one: it consists of two statements, which take 4.5 s, and is repeated within 0.6 s.
    private static func ofPulse(
        _ configuration: ConnectionConfiguration
    ) -> ConnectionConfiguration {
        var configuration = configuration
        configuration.statementTimeout = .seconds(2)
        configuration.queryDeadline = .milliseconds(2500)
        configuration.tcpUserTimeout = .milliseconds(2500)
        return configuration
    }
}
