import Logging
import PollLoop
import Synchronization
import TransferModel
import TransferStore

extension WebhookDispatcher {
    /// The pauses between claims while the store is away.
    private static let claimBackoff = Backoff(base: .milliseconds(250), limit: .seconds(10))

    /// Claims due pairs unless all slots are taken, starts them, and looks again if there are more.
    func claimDue(_ group: inout DiscardingTaskGroup) async {
        rates.forgetPassed(at: .now)
        // By then a pair has asked the store once more, even if an answer takes long.
        failures.forget(before: ContinuousClock.now - bounds.recordInterval * 10)
        let pausedUntil = state.withLock { $0.claimableAt }
        startWaiting(&group)
        let expired = state.withLock { state in
            state.postponed.sweep(at: .now)
            return state.slots.takeExpired(at: .now)
        }
        await postpone(expired.map { (claim: $0.claim.claim, wait: $0.wait) })
        if let pausedUntil, pausedUntil > .now { return }
        // Pairs claimed now could not be kept.
        guard worker.isTrusted(at: .now) else { return }
        await recall()
        let limit = state.withLock { $0.slots.freeCount }
        guard limit > 0, !Task.isCancelled else { return }
        let claimedAt = ContinuousClock.now
        let expiresAt = claimedAt + bounds.lease - bounds.leaseMargin
        guard let due = await claim(limit) else { return }
        state.withLock { $0.hasMore = due.examined == limit }
        let passed = await passUnasked(due.claims)
        var postponed: [(claim: DeliveryClaim, wait: Duration)] = []
        for claim in due.claims where !passed.contains(claim.fence) {
            let held = HeldDelivery(claim, until: expiresAt, askedAt: claimedAt)
            let wait = start(held, &group)
            if let wait { postponed.append((claim, wait)) }
        }
        await postpone(postponed)
        // What waits has its turn before the next claim, and a shutdown ends them. Where all slots
        // are taken, whatever gives one back looks again.
        if due.examined == limit, state.withLock({ !$0.slots.areAllTaken }) { wake() }
    }

    /// - Returns: nil when the store cannot be asked.
    private func claim(_ limit: Int) async -> DueDeliveries? {
        do throws(StoreError) {
            let due = try await dueDeliveries(limit)
            outages.succeeded()
            outages.couldNotRead(due.unreadable)
            sender.counters.countUnreadable(due.unreadable.count)
            state.withLock { state in
                state.claimFailures = 0
                state.claimableAt = nil
                state.foundDue = due.examined > 0
            }
            return due
        } catch {
            outages.failed(error)
            state.withLock { state in
                state.claimFailures += 1
                let pause = Self.claimBackoff.delay(failureCount: state.claimFailures)
                state.claimableAt = .now + pause
            }
            return nil
        }
    }

    /// Claims up to `limit` pairs, or none after a look that finds nothing due: most signals are of
    /// events that nobody has subscribed to, and a claim costs many times as much.
    private func dueDeliveries(_ limit: Int) async throws(StoreError) -> DueDeliveries {
        let (lost, foundDue) = state.withLock { ($0.lostClaim, $0.foundDue) }
        if let lost {
            try await stores.deliveries.returnDeliveries(
                claimedUnder: lost.fences,
                limit: lost.limit
            )
        } else if !foundDue, try await !stores.deliveries.areAnyDue() {
            return .none
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
        return due
    }

    /// Ends the claims of pairs whose events are not asked for: they need no slots, and for each
    /// event there are as many as there are subscriptions to other kinds.
    ///
    /// - Returns: the fences of these claims; the others have their turns.
    private func passUnasked(_ claims: [DeliveryClaim]) async -> Set<Fence> {
        let untried = claims.filter { $0.filter != nil && $0.tried == nil && $0.attempt == 0 }
        guard !untried.isEmpty else { return [] }
        do throws(StoreError) {
            return try await stores.deliveries.passUnasked(untried)
        } catch {
            if !Task.isCancelled { outages.failed(error) }
            return []
        }
    }

    /// - Returns: how long the pair has to wait until it is claimed again; nil when it is kept.
    private func start(
        _ held: HeldDelivery,
        _ group: inout DiscardingTaskGroup
    ) -> Duration? {
        let admission = state.withLock { state in
            state.slots.admit(
                held,
                of: held.claim.subscription,
                tenant: held.claim.tenant,
                host: held.host,
                concurrency: held.claim.concurrency,
                until: held.expiresAt,
                at: .now
            )
        }
        switch admission {
        case .start:
            run(held, &group)
            return nil
        case .wait:
            return nil
        case .postpone(let wait):
            return wait
        }
    }

    /// Ends claims of pairs that found no place; without a store, their leases do.
    private func postpone(_ deliveries: [(claim: DeliveryClaim, wait: Duration)]) async {
        guard !deliveries.isEmpty else { return }
        do throws(StoreError) {
            try await stores.deliveries.postpone(deliveries)
            state.withLock { state in
                for (claim, wait) in deliveries { state.postponed.add(claim, until: .now + wait) }
            }
        } catch {
            if !Task.isCancelled { outages.failed(error) }
        }
    }

    /// Makes postponed pairs due whose subscriptions have nothing else to deliver.
    private func recall() async {
        let claims = state.withLock { state in
            var claims: [DeliveryClaim] = []
            for subscription in state.postponed.takeRequested() {
                let count = state.slots.recallCount(of: subscription)
                guard count > 0 else { continue }
                let next = state.postponed.take(count, of: subscription, at: .now)
                claims += next.claims
                if !next.hasMore { state.slots.forgetReturns(of: subscription) }
            }
            return claims
        }
        guard !claims.isEmpty else { return }
        do throws(StoreError) {
            try await stores.deliveries.recall(claims)
        } catch {
            // They return by themselves.
            if !Task.isCancelled { outages.failed(error) }
        }
    }

    /// Starts waiting pairs that may be started now that others have ended.
    private func startWaiting(_ group: inout DiscardingTaskGroup) {
        while let held = state.withLock({ $0.slots.next(at: .now) }) { run(held, &group) }
    }

    private func run(_ held: HeldDelivery, _ group: inout DiscardingTaskGroup) {
        group.addTask {
            var next: HeldDelivery? = held
            while let current = next {
                next = await self.deliver(current)
                if next == nil { next = self.end(current) }
            }
        }
    }
}

extension WebhookDispatcher.State {
    /// Asks for postponed pairs of a subscription if it has free slots for them.
    ///
    /// - Returns: whether the next look is to be now.
    mutating func requestRecall(of subscription: SubscriptionID) -> Bool {
        guard slots.recallCount(of: subscription) > 0 else { return false }
        postponed.request(subscription)
        return true
    }
}

extension WebhookDispatcher {
    /// Reads enough events for a message, or one page where each event has its own message.
    ///
    /// It stops before events that are no longer kept or cannot be read; when the next ones are no
    /// longer kept, it passes them.
    ///
    /// - Returns: nil when the store does not answer, or the claim has ended or is to end.
    func gather(
        _ held: inout HeldDelivery,
        inPagesOf pageMax: Int
    ) async -> MessageBatcher? {
        var batcher = MessageBatcher(held)
        repeat {
            let limit = batcher.pageLimit(pageMax)
            guard
                let page = await page(of: held.claim, after: batcher.position, limit: limit)
            else { return nil }
            let kept = page.unbroken(after: batcher.position).readablePrefix
            if let place = page.unreadable.first, place.sequence == held.cursor + 1 {
                guard await mayPass(place, &held) else { return nil }
                batcher = MessageBatcher(held)
                continue
            }
            if kept.isEmpty, batcher.position == held.cursor {
                let cursor = held.cursor
                guard await passExpired(&held) else { return nil }
                if held.cursor > cursor {
                    batcher = MessageBatcher(held)
                    continue
                }
            }
            batcher.add(
                kept,
                hasMore: page.hasMore || kept.count < page.eventCount,
                wanted: held.wants,
                size: { WebhookMessage($0, linkBase: composer.linkBase)?.body.count ?? 0 }
            )
            // Events read before a gap are delivered first; the gap is met again afterwards.
            if kept.count < page.eventCount { break }
        } while !batcher.isFull
        return batcher
    }

    private func page(
        of claim: DeliveryClaim,
        after position: Int64,
        limit: Int
    ) async -> ListPage<SessionEvent, EventPlace>? {
        do throws(StoreError) {
            return try await stores.events.events(
                of: claim.session,
                after: position,
                limit: limit,
                bytesMax: bounds.pageBytesMax
            )
        } catch {
            if !Task.isCancelled { outages.failed(error) }
            return nil
        }
    }

    /// Passes over the next events of a pair if they are no longer kept, and has that reported.
    ///
    /// - Returns: false when the claim has ended or is to end.
    private func passExpired(_ held: inout HeldDelivery) async -> Bool {
        // Delivered events that are not recorded would be reported as expired.
        guard await settle(&held), held.isCurrent else { return false }
        let expiresAt = ContinuousClock.now + bounds.lease - bounds.leaseMargin
        let claim = held.claim
        let position = held.cursor
        let cursor = await recorder.record(until: held.expiresAt, whenStale: Int64?.none) {
            [stores, bounds] () throws(StoreError) in
            try await stores.deliveries.recordExpired(claim, lease: bounds.lease)
        }
        guard let cursor else { return false }
        if cursor < position {
            logger.warning(
                "events are sent again, for the log ends before what was delivered of it",
                metadata: [
                    "subscription": "\(claim.subscription)", "session": "\(claim.session)",
                    "delivered": "\(position)", "after": "\(cursor)",
                ]
            )
        }
        // One that was moved back is due again as soon as it is released.
        guard cursor > position else { return true }
        held.passed(cursor)
        held.recorded(until: expiresAt, at: .now)
        logger.warning(
            "events were not kept until they could be delivered",
            metadata: [
                "subscription": "\(claim.subscription)", "session": "\(claim.session)",
                "events": "\(cursor - position)",
            ]
        )
        // The event that reports them is due.
        wake()
        return true
    }
}

/// Events that this release cannot read, such as those of a later release.
extension WebhookDispatcher {
    /// The number of waits before an event that cannot be read is given up: half an hour, in which
    /// another instance may read it.
    static let unreadableWaitsMax = 3

    /// Passes over the next event of a pair, which cannot be read, if the subscription does not ask
    /// for it; or else counts a failed try of its message, with which the claim ends.
    ///
    /// - Returns: false when the claim has ended.
    func mayPass(_ place: EventPlace, _ held: inout HeldDelivery) async -> Bool {
        if let kind = place.kind, !held.claim.wants(kind) {
            held.passed(place.sequence)
            return true
        }
        guard await settle(&held) else { return false }
        sender.counters.countUnreadable(1)
        await fail(
            held,
            MessageName(id: place.id, sequence: place.sequence, batch: nil),
            .unreadable,
            .notSent
        )
        return false
    }
}

extension DeliveryClaim {
    /// Returns whether the subscription asks for events of `kind`.
    func wants(_ kind: SessionEvent.Kind) -> Bool { filter?.contains(kind) ?? kind.isSentUnasked }
}
