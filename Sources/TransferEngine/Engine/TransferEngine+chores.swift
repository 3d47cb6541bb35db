import Logging
import Synchronization
import TransferModel
import TransferStore

extension TransferEngine {
    /// The chores beside transferring; rescue comes first and waits for nothing else.
    var chores: [Chore] {
        let heartbeat = configuration.heartbeatInterval
        let tick = EngineConfiguration.tickInterval
        return [
            Chore("rescue", every: heartbeat) { () throws(StoreError) in
                try await rescueOnce()
                return .rest
            },
            Chore("forgotten attempts", every: heartbeat, making: heedingForgotten),
            Chore("promotion", every: tick, making: promoting),
            Chore("release of hosts", every: tick) { () throws(StoreError) in
                try await releaseReachedHosts()
                return .rest
            },
            Chore("cancellations", every: heartbeat, making: cancelling),
            Chore("unanswered questions", every: heartbeat) { () throws(StoreError) in
                let failed = try await stores.decisions.failUnanswered()
                if failed > 0 { onEvents() }
                return Chore.Next(isMore: failed == DecisionStore.unansweredMax)
            },
            Chore("abandoned parts", every: heartbeat) { () throws(StoreError) in
                try await removeAbandonedParts()
                return .rest
            },
            Chore("erasure", every: heartbeat) { () throws(StoreError) in
                Chore.Next(isMore: try await eraseEphemeral())
            },
            Chore("idempotency keys", every: heartbeat) { () throws(StoreError) in
                let isMore = try await stores.idempotency.pruneIdempotencyKeys() > 0
                return Chore.Next(isMore: isMore)
            },
        ]
    }

    private func heedingForgotten() -> Chore.Turn {
        var forgotten = ForgottenAttempts()
        return { () throws(StoreError) in
            try await heedForgotten(&forgotten)
            return .rest
        }
    }

    /// The number of seconds by which the database's clock was set ahead, as long as it is not
    /// followed.
    package var databaseClockAhead: Double? { databaseClock.clock.withLock(\.ahead) }

    /// Moves due tasks to the queue, as close to their time as the next task's time is known.
    private func promoting() -> Chore.Turn {
        let tick = EngineConfiguration.tickInterval
        return { () throws(StoreError) in
            let asked = ContinuousClock.now
            let latest = databaseClock.clock.withLock { $0.latest(at: asked) }
            let promotion = try await stores.queue.promoteDue(notAfter: latest)
            let jump = databaseClock.clock.withLock {
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

    private func cancelling() -> Chore.Turn {
        var wasMore = false
        return { () throws(StoreError) in
            let isMore = try await stores.cancellations.continueCancellations()
            if isMore || wasMore { onEvents() }
            wasMore = isMore
            return Chore.Next(isMore: isMore)
        }
    }

    /// Makes tasks runnable that waited for hosts which have been reached, page by page.
    private func releaseReachedHosts() async throws(StoreError) {
        let lanes = claimer.reachability.takeOpened()
        guard !lanes.isEmpty else { return }
        while try await stores.queue.release(lanes: lanes) > 0 { onRunnable() }
    }

    private func onRunnable() {
        claimer.look()
        onWork()
    }
}
