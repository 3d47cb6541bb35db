import Logging
import Postgres
import ServiceLifecycle
import TransferEngine
import TransferHTTP
import TransferStore

/// Checks the database continuously, and tells the monitor and the log whether it answers.
struct DatabaseWatch: Service {
    /// The pause between two checks.
    private static let interval: Duration = .milliseconds(400)

    /// The store, whose connections are separate from the load's, so that no check waits behind it.
    let fleet: FleetStore
    /// The newest migration that this program knows.
    let version: Int
    let monitor: HealthMonitor
    let logger: Logger
    /// Starts the database again if it is ours to start.
    let revive: @Sendable () async throws -> Void
    /// Called when the database answers on a new connection after the last one was lost.
    let onSilenceEnd: @Sendable () -> Void
    /// Called, perhaps repeatedly, when the schema no longer fits this program.
    let onOutdated: @Sendable (SchemaMovedOn) -> Void

    func run() async throws {
        await cancelWhenGracefulShutdown { await watch() }
    }

    private func watch() async {
        var revival = Revival()
        var answeredAt = ContinuousClock.now
        var isFailing = false
        var hasLostConnection = false
        var isClockOff = false
        while !Task.isCancelled {
            do throws(StoreError) {
                let vitals = try await fleet.vitals(
                    silentFor: EngineConfiguration.leaseDefault
                )
                monitor.answered(vitals)
                isClockOff = tell(ofClock: vitals.clockDifference, wasOff: isClockOff)
                if let floor = vitals.schemaFloor, floor > version {
                    onOutdated(SchemaMovedOn(version: version, floor: floor))
                }
                if isFailing {
                    logger.notice("the database answers again")
                    revival.answered()
                }
                if hasLostConnection { onSilenceEnd() }
                (answeredAt, isFailing, hasLostConnection) = (.now, false, false)
            } catch {
                if Task.isCancelled { return }
                let isLoss = Self.isLoss(error)
                if isLoss { hasLostConnection = true }
                // The next check may be answered, on another connection or once there is less load.
                let mayPass = isLoss || error.isContended
                if !mayPass || .now - answeredAt > HealthMonitor.silenceMax {
                    tell(of: error, again: isFailing)
                    isFailing = true
                    await revival.revive(logger: logger, revive)
                }
            }
            do { try await Task.sleep(for: Self.interval) } catch { return }
        }
    }

    /// Tells the monitor, and the log unless it was told before.
    private func tell(of error: StoreError, again: Bool) {
        monitor.failed(error.reason)
        guard !again else { return }
        logger.warning(
            "the database is away",
            metadata: ["error": "\(String(reflecting: error))"]
        )
    }

    /// Tells the log once when the clocks differ, and once when they agree again.
    ///
    /// - Returns: whether they differ.
    private func tell(ofClock difference: Double, wasOff: Bool) -> Bool {
        let bound = HealthReport.clockDifferenceMax
        // A difference of just about that much is not told of with each check.
        let isOff = abs(difference) > (wasOff ? bound / 2 : bound)
        let metadata: Logger.Metadata = ["seconds": "\(Int(difference.rounded()))"]
        if isOff, !wasOff {
            logger.warning(
                "this machine's clock, which signs webhooks, differs from the database's",
                metadata: metadata
            )
        } else if wasOff, !isOff {
            logger.notice("this machine's clock agrees with the database's", metadata: metadata)
        }
        return isOff
    }

    /// Whether there was a connection and no answer, for want of time or at its end.
    private static func isLoss(_ error: StoreError) -> Bool {
        guard case .unavailable(let failure) = error else { return false }
        return [.deadlineExceeded, .connectionLost].contains(failure.code)
    }
}
