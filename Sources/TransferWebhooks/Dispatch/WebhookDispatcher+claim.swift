import Synchronization
import TransferModel
import TransferStore

extension WebhookDispatcher {
    /// The longest pause between claims while the store is away.
    private static let claimPauseMax: Duration = .seconds(10)
    private static let claimPauseMin: Duration = .milliseconds(250)

    /// Claims due pairs until there are none or all slots are taken, and starts them.
    func claimDue(_ group: inout DiscardingTaskGroup) async {
        let pausedUntil = state.withLock { state in
            if !state.paces.isEmpty { state.paces = state.paces.filter { $0.value.next > .now } }
            return state.claimableAt
        }
        startWaiting(&group)
        if let pausedUntil, pausedUntil > .now { return }
        // Pairs claimed now could not be kept.
        guard worker.isTrusted(at: .now) else { return }
        while true {
            let limit = state.withLock { $0.slots.freeCount }
            guard limit > 0, !Task.isCancelled else { return }
            let expiresAt = ContinuousClock.now + bounds.lease - bounds.leaseMargin
            guard let due = await claim(limit) else { return }
            state.withLock { $0.hasMore = due.examined == limit }
            for claim in due.claims { start(HeldClaim(claim, until: expiresAt), &group) }
            guard due.examined == limit else { return }
        }
    }

    /// - Returns: nil when the store cannot be asked.
    private func claim(_ limit: Int) async -> DueDeliveries? {
        do throws(StoreError) {
            if let lost = state.withLock({ $0.lostClaim }) {
                try await stores.deliveries.returnDeliveries(
                    claimedUnder: lost.fences,
                    limit: lost.limit
                )
            }
            let fences = worker.reserve(limit)
            state.withLock { $0.lostClaim = (fences, limit) }
            let due = try await stores.deliveries.claimDeliveries(
                fences,
                limit: limit,
                lease: bounds.lease,
                health: health
            )
            state.withLock { $0.lostClaim = nil }
            watch.succeeded()
            state.withLock { state in
                state.claimFailures = 0
                state.claimableAt = nil
            }
            return due
        } catch {
            watch.failed(error)
            state.withLock { state in
                let doublings = min(state.claimFailures, 10)
                state.claimFailures += 1
                let pause = min(Self.claimPauseMin * (1 << doublings), Self.claimPauseMax)
                state.claimableAt = .now + pause * Double.random(in: 0.5..<1)
            }
            return nil
        }
    }

    private func start(_ held: HeldClaim, _ group: inout DiscardingTaskGroup) {
        let admission = state.withLock { state in
            state.slots.admit(
                held,
                of: held.claim.subscription,
                tenant: held.claim.tenant,
                host: held.host,
                concurrency: held.claim.concurrency,
                until: held.expiresAt
            )
        }
        if admission == .start { run(held, &group) }
    }

    /// Starts waiting pairs that may be started now that others have ended.
    private func startWaiting(_ group: inout DiscardingTaskGroup) {
        while let held = state.withLock({ $0.slots.next(at: .now) }) { run(held, &group) }
    }

    private func run(_ held: HeldClaim, _ group: inout DiscardingTaskGroup) {
        group.addTask {
            var next: HeldClaim? = held
            while let current = next {
                await self.deliver(current)
                next = self.end(current)
            }
        }
    }
}
