import Logging
import ServiceLifecycle
import TransferEngine
import TransferStore

/// Asks the database all the time whether it is there, and tells the monitor and the log.
struct DatabaseWatch: Service {
    /// Between two questions.
    private static let interval: Duration = .milliseconds(400)
    /// Between two tries to start a private cluster that was killed.
    private static let reviveInterval: Duration = .seconds(5)

    /// Its connections are apart from those of the load, so that none waits behind it.
    let workers: WorkerStore
    /// The newest migration that this program knows.
    let version: Int
    let monitor: HealthMonitor
    let logger: Logger
    /// Starts the database again if that is ours to do.
    let revive: @Sendable () async throws -> Void
    /// Called, perhaps again and again, when the schema is not this program's any more.
    let onOutdated: @Sendable (SchemaMovedOn) -> Void

    func run() async throws {
        await cancelWhenGracefulShutdown { await watch() }
    }

    private func watch() async {
        var revivedAt = ContinuousClock.now
        var isFailing = false
        while !Task.isCancelled {
            do throws(StoreError) {
                let vitals = try await workers.vitals(
                    silentFor: EngineConfiguration.leaseDefault
                )
                monitor.answered(workers: vitals.workers)
                if let floor = vitals.schemaFloor, floor > version {
                    onOutdated(SchemaMovedOn(version: version, floor: floor))
                }
                if isFailing { logger.notice("the database answers again") }
                isFailing = false
            } catch {
                if Task.isCancelled { return }
                monitor.failed(error.reason)
                if !isFailing {
                    logger.warning(
                        "the database is away",
                        metadata: ["error": "\(String(reflecting: error))"]
                    )
                }
                isFailing = true
                if .now - revivedAt > Self.reviveInterval {
                    revivedAt = .now
                    await reviveDatabase()
                }
            }
            do { try await Task.sleep(for: Self.interval) } catch { return }
        }
    }

    private func reviveDatabase() async {
        do {
            try await revive()
        } catch {
            logger.error("database not started again", metadata: ["error": "\(error)"])
        }
    }
}
