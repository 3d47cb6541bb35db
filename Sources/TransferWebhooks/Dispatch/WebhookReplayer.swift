import Logging
import TransferModel
import TransferStore

/// The loop that sends messages again that were asked for.
///
/// Subscriptions with replays take turns, each on its own: a receiver that is slow for each message
/// holds up those of no other.
struct WebhookReplayer: Sendable {
    /// The most replays of a subscription in one of its turns.
    private static let replaysMax = 8
    /// The most subscriptions that are looked at for a turn.
    private static let turnsMax = 256
    /// The waits of the schedule that pauses have: minutes at most, because whoever asks for
    /// replays expects them soon.
    private static let pausesMax = 2

    let stores: WebhookStores
    let worker: WorkerIdentity
    let sender: WebhookSender
    let composer: MessageComposer
    let recorder: DeliveryRecorder
    let rates: DeliveryRates
    let schedule: DeliverySchedule
    let health: DeliveryHealth
    let bounds: DeliveryBounds
    let outages: OutageLog
    let stopping: StopFlag
    private let slots = ReplaySlots()
    private let wakeups = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    private var isStopping: Bool { Task.isCancelled || stopping.isSet }

    /// Looks for requested replays now.
    func wake() { wakeups.continuation.yield() }

    /// Begins no further replay.
    func stop() { wakeups.continuation.finish() }

    /// Sends the requested replays at each wake-up until it is stopped.
    func run() async {
        await withDiscardingTaskGroup { group in
            var last: SubscriptionID?
            for await _ in wakeups.stream { await startDue(&group, after: &last) }
        }
    }

    /// Starts turns of subscriptions whose replays are due, as far as there are slots.
    private func startDue(
        _ group: inout DiscardingTaskGroup,
        after last: inout SubscriptionID?
    ) async {
        guard !isStopping, slots.isAnyFree, let page = await turns(after: last) else { return }
        last = page.last
        for turn in slots.inOrder(page.turns) {
            guard let tenant = turn.tenant else {
                await cancelReplays(of: turn.subscription)
                continue
            }
            guard slots.take(for: turn.subscription, of: tenant, at: .now) else { continue }
            group.addTask {
                let hasMore = await self.replayNext(of: turn.subscription)
                let isAwaited = self.slots.giveBack(for: turn.subscription, of: tenant)
                if hasMore || isAwaited { self.wake() }
            }
        }
    }

    /// - Returns: nil when nothing is due, or the store cannot be asked.
    private func turns(after last: SubscriptionID?) async -> ReplayTurns? {
        do throws(StoreError) {
            guard try await stores.deliveryLog.areAnyReplaysDue() else { return nil }
            return try await stores.deliveryLog.replayTurns(after: last, limit: Self.turnsMax)
        } catch {
            if !Task.isCancelled { outages.failed(error) }
            return nil
        }
    }

    /// - Returns: nil when the store cannot be asked.
    private func claimReplay(of subscription: SubscriptionID) async -> DueReplays? {
        do throws(StoreError) {
            return try await stores.deliveryLog.claimReplays(
                of: subscription,
                worker.reserve(1),
                limit: 1,
                lease: bounds.lease
            )
        } catch {
            if !Task.isCancelled { outages.failed(error) }
            return nil
        }
    }

    /// Sends the next messages of a subscription one after another, as long as its receiver takes
    /// part, each as the subscription is when its turn comes.
    ///
    /// - Returns: whether there are probably more.
    private func replayNext(of subscription: SubscriptionID) async -> Bool {
        for _ in 0..<Self.replaysMax {
            guard !isStopping, let due = await claimReplay(of: subscription), !due.isEmpty else {
                return false
            }
            outages.couldNotRead(due.unreadable)
            sender.counters.countUnreadable(due.unreadable.count)
            guard let claim = due.claims.first else { return true }
            switch await replay(claim) {
            case .over:
                continue
            case .outdated:
                await giveBack(claim)
            case .postponed:
                await giveBack(claim)
                return false
            case .unreachable:
                await cancelReplays(of: subscription)
                return false
            }
        }
        return true
    }

    /// Gives a replay back that was not sent, to have its place again.
    private func giveBack(_ claim: ReplayClaim) async {
        let deadline = ContinuousClock.now + bounds.lease
        await recorder.record(until: deadline, whenStale: ()) {
            [stores] () throws(StoreError) in
            try await stores.deliveryLog.returnReplays([claim])
        }
    }

    /// Cancels the replays of a subscription that is deleted or whose receiver is dead.
    private func cancelReplays(of subscription: SubscriptionID) async {
        do throws(StoreError) {
            while !isStopping,
                try await stores.deliveryLog.cancelReplays(of: subscription) > 0
            {}
        } catch {
            if !Task.isCancelled { outages.failed(error) }
        }
    }
}

extension WebhookReplayer {
    /// What became of a replay.
    private enum Outcome {
        /// It is done, whether the receiver took it or not.
        case over
        /// It keeps its place, and the next claim of it has what is right by then.
        case outdated
        /// It keeps its place, and what comes after it waits too.
        case postponed
        /// It is done, and nothing more is to be sent.
        case unreachable
    }

    /// Sends a message once more, in several parts if its subscription asks for more by now than
    /// one message may hold.
    private func replay(_ claim: ReplayClaim) async -> Outcome {
        var renewedAt = ContinuousClock.now
        var position = (claim.batchFirst ?? claim.sequence) - 1
        var last: SentMessage?
        var hasFound = false
        repeat {
            guard let part = await nextPart(of: claim, after: position) else { return .postponed }
            guard !part.isUnreadable else { return await end(claim, .notSent, as: .unreadable) }
            position = part.position
            hasFound = hasFound || part.hasFound
            guard let outgoing = part.outgoing else { continue }
            if let outcome = await obstacle(to: claim, &renewedAt) { return outcome }
            let composed: WebhookMessage?
            do throws(StoreError) {
                composed = try await composer.message(
                    outgoing,
                    of: claim.subscription,
                    to: claim.endpoint
                )
            } catch {
                if !Task.isCancelled { outages.failed(error) }
                if case .unavailable = error { return .postponed }
                return await end(claim, .notSent)
            }
            guard let message = composed else { return await end(claim, .notSent) }
            let sent = await sender.send(message, to: claim.endpoint, of: claim.tenant)
            guard case .delivered = sent.outcome else { return await fail(claim, sent) }
            last = sent
        } while position < claim.sequence
        guard let taken = last else {
            return await end(claim, .notSent, as: hasFound ? .notAskedFor : .expired)
        }
        return await end(claim, taken)
    }

    /// Waits for the turn that the rate limit gives the next message, and returns what becomes of
    /// the replay if that may not be sent.
    ///
    /// - Parameters:
    ///   - claim: the replay.
    ///   - renewedAt: when its claim was made or last renewed. If that is a while ago, another
    ///     instance may have it by now, or the message another receiver.
    /// - Returns: nil when the message may be sent.
    private func obstacle(
        to claim: ReplayClaim,
        _ renewedAt: inout ContinuousClock.Instant
    ) async -> Outcome? {
        guard !isStopping else { return .postponed }
        if let rate = claim.rateLimit {
            let wait = rates.wait(of: claim.subscription, messagesPerSecond: rate, at: .now)
            // The wait ends early when the dispatcher is cancelled.
            try? await Task.sleep(for: wait)
        }
        if ContinuousClock.now - renewedAt >= bounds.recordInterval {
            do throws(StoreError) {
                let isRenewed = try await stores.deliveryLog.renewReplay(claim, lease: bounds.lease)
                guard isRenewed else { return .outdated }
            } catch {
                if !Task.isCancelled { outages.failed(error) }
                return .postponed
            }
            renewedAt = ContinuousClock.now
        }
        return isStopping ? .postponed : nil
    }

    /// Decides what becomes of a message that was not taken: it is done, unless its receiver has
    /// too much to do or the fault is our own.
    private func fail(_ claim: ReplayClaim, _ sent: SentMessage) async -> Outcome {
        guard case .failed(let failure) = sent.outcome,
            failure.reason != DeliveryFailure.serviceReason
        else {
            pause(claim, throttle: nil)
            return .postponed
        }
        if let throttle = health.throttle(status: failure.status, retryAfter: failure.retryAfter) {
            pause(claim, throttle: throttle)
            _ = await record(sent, of: claim, isOver: false)
            return .postponed
        }
        let outcome = await end(claim, sent)
        return outcome == .over && failure.isOfWhoIsAway ? .unreachable : outcome
    }

    /// Pauses the replays of a subscription, of which one is to be sent once more.
    private func pause(_ claim: ReplayClaim, throttle: Duration?) {
        slots.pause(claim.subscription, at: .now) { setbacks in
            schedule.wait(
                afterTry: min(setbacks, Self.pausesMax, schedule.waits.count),
                retryAfter: throttle,
                chance: .random(in: 0..<1)
            ) ?? bounds.messageTimeout
        }
    }

    /// Records that a replay is done.
    private func end(
        _ claim: ReplayClaim,
        _ sent: SentMessage,
        as failure: DeliveryFailure? = nil
    ) async -> Outcome {
        slots.forgetSetbacks(of: claim.subscription)
        return await record(sent, as: failure, of: claim) ? .over : .postponed
    }

    /// - Returns: false when the claim is stale.
    private func record(
        _ sent: SentMessage,
        as failure: DeliveryFailure? = nil,
        of claim: ReplayClaim,
        isOver: Bool = true
    ) async -> Bool {
        let deadline = ContinuousClock.now + bounds.lease
        return await recorder.record(until: deadline, whenStale: false) {
            [stores] () throws(StoreError) in
            try await stores.deliveryLog.recordReplayed(
                claim,
                sent.attempt(as: failure, isReplay: true),
                isOver: isOver
            )
        }
    }

    /// Reads the events of the message's next part.
    ///
    /// - Returns: nil when the store does not answer.
    private func nextPart(of claim: ReplayClaim, after position: Int64) async -> ReplayPart? {
        var part = ReplayPart(of: claim, after: position)
        do throws(StoreError) {
            while !part.isComplete {
                let page = try await stores.events.events(
                    of: claim.session,
                    after: part.position,
                    limit: part.pageLimit(bounds.pageMax)
                )
                guard page.lastSequence != nil else {
                    part.end()
                    break
                }
                let own = page.through(claim.sequence)
                guard own.unreadable.isEmpty else {
                    part.meetUnreadable()
                    break
                }
                if own.items.isEmpty { part.end() }
                part.add(own.items) {
                    WebhookMessage($0, linkBase: composer.linkBase)?.body.count ?? 0
                }
            }
            return part
        } catch {
            if !Task.isCancelled { outages.failed(error) }
            // What is no outage would be met again at once.
            if case .unavailable = error {} else { pause(claim, throttle: nil) }
            return nil
        }
    }
}
