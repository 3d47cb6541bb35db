import Logging
import Synchronization
import TransferModel
import TransferStore

/// The part of the engine that moves due tasks to the queue.
struct Promoter {
    let queue: QueueStore
    let clock: SharedDatabaseClock
    let logger: Logger
    /// Called when tasks have become runnable.
    let onRunnable: @Sendable () -> Void
    /// Called when events were committed.
    let onEvents: @Sendable () -> Void

    /// Moves due tasks, as close to their time as the next task's time is known.
    func promote() async throws(StoreError) -> Chore.Next {
        let tick = EngineConfiguration.tickInterval
        let asked = ContinuousClock.now
        let latest = clock.clock.withLock { $0.latest(at: asked) }
        let promotion = try await queue.promoteDue(notAfter: latest)
        let jump = clock.clock.withLock {
            $0.note(promotion.date, asked: asked, answered: .now)
        }
        if let jump {
            logger.warning(
                "the database's clock was set",
                metadata: ["seconds": "\(jump)"]
            )
        }
        if promotion.promoted > 0 { onRunnable() }
        if promotion.asked > 0 { onEvents() }
        return .after(min(promotion.next ?? tick, tick))
    }
}
