import Logging
import Synchronization
import TransferModel
import TransferStore

/// The part of the engine that moves due tasks to the queue.
struct Promoter {
    let queue: QueueStore
    let clock: SharedDatabaseClock
    /// The same clock for those who remove what is old.
    let removalClock: SharedDatabaseClock
    let logger: Logger
    /// Called when tasks have become runnable, with their hosts as far as known.
    let onRunnable: @Sendable (Set<HostKey>) -> Void
    /// Called when events were committed.
    let onEvents: @Sendable () -> Void

    /// Moves due tasks, as close to their time as the next task's time is known.
    func promote() async throws(StoreError) -> Chore.Next {
        let tick = EngineConfiguration.tickInterval
        let asked = ContinuousClock.now
        let promotion = try await queue.promoteDue(notAfter: clock.latest)
        if let jump = clock.note(promotion.date, asked: asked) {
            logger.warning(
                "the database's clock was set",
                metadata: ["seconds": "\(jump)"]
            )
        }
        if let jump = removalClock.note(promotion.date, asked: asked), jump > 0 {
            logger.warning(
                "what is old is removed as if the database's clock had not been set",
                metadata: ["for": "\(Removals.clockPatience)"]
            )
        }
        if promotion.promoted > 0 { onRunnable(promotion.hosts) }
        if promotion.asked > 0 { onEvents() }
        return .after(min(promotion.next ?? tick, tick))
    }
}
