import EventLoop
import Postgres
import TransferStore

/// Connections apart from those of the load, on a loop of their own, for what says that the
/// instance lives: its heartbeat, the question of readiness, and the rescue of others.
///
/// Behind the load of a busy instance each of them would come late, and a living instance would
/// count as dead.
struct Lifeline: Sendable {
    /// One for what may take its time, as a rescue, and one beside it.
    private static let connectionsMax = 2

    let pool: ConnectionPool
    let database: Database

    init(_ server: DatabaseServer, settings: StoreSettings) throws {
        var configuration = server.configuration
        configuration.applicationName = "transferd lifeline"
        pool = ConnectionPool(
            configuration: configuration,
            connectionsMax: Self.connectionsMax,
            loop: try EventLoop(name: "lifeline")
        )
        database = Database(pool: pool, settings: settings)
    }
}
