import Logging
import ServiceLifecycle
import TransferEngine
import TransferStore

/// Checks the database continuously, and tells the monitor and the log whether it answers.
struct DatabaseWatch: Service {
    /// The pause between two checks.
    private static let interval: Duration = .milliseconds(400)
    /// The pause between two attempts to start a private cluster that was killed.
    private static let reviveInterval: Duration = .seconds(5)

    /// The store, whose connections are separate from the load's, so that no check waits behind it.
    let workers: WorkerStore
    /// The newest migration that this program knows.
    let version: Int
    let monitor: HealthMonitor
    let logger: Logger
    /// Starts the database again if it is ours to start.
    let revive: @Sendable () async throws -> Void
    /// Called, perhaps repeatedly, when the schema no longer fits this program.
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
                monitor.answered(vitals)
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
