import PollLoop
import Postgres
import TransferStore

/// Connections for the heartbeats of the instance, separate from the load's.
///
/// They have a loop of their own and carry its heartbeat, the readiness check, and the rescue of
/// others. Behind the load of a busy instance each of them would come late, and a living instance
/// would count as dead.
struct Lifeline: Sendable {
    /// The number of connections: one for what may take long, such as a rescue, and another one.
    private static let connectionsMax = 2

    let pool: ConnectionPool
    let database: Database

    init(_ server: DatabaseServer, settings: StoreSettings) throws {
        var configuration = server.configuration
        configuration.applicationName = "transferd lifeline"
        pool = ConnectionPool(
            configuration: configuration,
            connectionsMax: Self.connectionsMax,
            loop: try PollLoop(name: "lifeline")
        )
        database = Database(pool: pool, settings: settings)
    }
}
