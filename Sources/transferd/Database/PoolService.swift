import Postgres
import ServiceLifecycle

/// Keeps the connections healthy until everything that uses them has stopped.
struct PoolService: Service {
    let pool: ConnectionPool

    func run() async throws {
        await cancelWhenGracefulShutdown { await pool.run() }
    }
}
