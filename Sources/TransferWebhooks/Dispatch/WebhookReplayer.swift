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

    let stores: WebhookStores
    let worker: WorkerIdentity
    let sender: WebhookSender
    let composer: MessageComposer
    let recorder: DeliveryRecorder
    let bounds: DeliveryBounds
    let watch: OutageLog
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
            guard slots.take(for: turn.subscription, of: tenant) else { continue }
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
            if !Task.isCancelled { watch.failed(error) }
            return nil
        }
    }

    /// - Returns: nil when the store cannot be asked.
    private func claimReplays(of subscription: SubscriptionID) async -> DueReplays? {
        do throws(StoreError) {
            return try await stores.deliveryLog.claimReplays(
                of: subscription,
                worker.reserve(Self.replaysMax),
                limit: Self.replaysMax,
                // Its receiver may be slow for each.
                lease: bounds.messageTimeout * (Self.replaysMax + 1)
            )
        } catch {
            if !Task.isCancelled { watch.failed(error) }
            return nil
        }
    }

    /// Sends the next messages of a subscription one after another, as long as its receiver can be
    /// reached.
    ///
    /// - Returns: whether there are probably more.
    private func replayNext(of subscription: SubscriptionID) async -> Bool {
        guard !isStopping, let due = await claimReplays(of: subscription) else { return false }
        watch.couldNotRead(due.unreadable)
        sender.counters.countUnreadable(due.unreadable.count)
        for claim in due.claims {
            guard !isStopping, let page = await events(of: claim) else { return false }
            guard page.unreadable.isEmpty else {
                guard await record(.notSent, as: .unreadable, of: claim) else { return false }
                continue
            }
            // Its events are no longer kept; the log's row goes soon.
            guard let outgoing = claim.outgoing(page.events) else { continue }
            guard let message = await messageOrNil(outgoing, of: claim) else { return false }
            let sent = await sender.send(message, to: claim.endpoint, of: claim.tenant)
            // Whoever finds that the lease has run out sends the message again.
            if sent.outcome == .abandoned { return false }
            guard await record(sent, of: claim) else { return false }
            if case .failed(let failure) = sent.outcome, failure.status == nil {
                await cancelReplays(of: subscription)
                return false
            }
        }
        return !due.isEmpty
    }

    /// - Returns: false when the claim is stale.
    private func record(
        _ sent: SentMessage,
        as failure: DeliveryFailure? = nil,
        of claim: ReplayClaim
    ) async -> Bool {
        let deadline = ContinuousClock.now + bounds.lease
        return await recorder.record(until: deadline, whenStale: false) {
            [stores] () throws(StoreError) in
            try await stores.deliveryLog.recordReplayed(
                claim,
                sent.attempt(as: failure, isReplay: true)
            )
        }
    }

    private func messageOrNil(_ outgoing: OutgoingMessage, of claim: ReplayClaim) async
        -> WebhookMessage?
    {
        do throws(StoreError) {
            return try await composer.message(outgoing, of: claim.subscription, to: claim.endpoint)
        } catch {
            if !Task.isCancelled { watch.failed(error) }
            return nil
        }
    }

    /// Returns the events from the first of the message to its last, and the places of those that
    /// cannot be read.
    private func events(
        of claim: ReplayClaim
    ) async -> (events: [SessionEvent], unreadable: [EventPlace])? {
        do throws(StoreError) {
            var events: [SessionEvent] = []
            var unreadable: [EventPlace] = []
            var cursor = (claim.batchFirst ?? claim.sequence) - 1
            while cursor < claim.sequence {
                let page = try await stores.events.events(
                    of: claim.session,
                    after: cursor,
                    limit: min(bounds.pageMax, Int(claim.sequence - cursor))
                )
                guard let last = page.lastSequence else { break }
                cursor = last
                let own = page.through(claim.sequence)
                events += own.filter { claim.wants($0) }
                unreadable += own.unreadable
            }
            return (events, unreadable)
        } catch {
            if !Task.isCancelled { watch.failed(error) }
            return nil
        }
    }

    /// Cancels the replays of a subscription that is deleted or whose receiver is dead.
    private func cancelReplays(of subscription: SubscriptionID) async {
        do throws(StoreError) {
            while !isStopping,
                try await stores.deliveryLog.cancelReplays(of: subscription) > 0
            {}
        } catch {
            if !Task.isCancelled { watch.failed(error) }
        }
    }
}

extension ReplayClaim {
    /// Whether a batch holds `event`; a message of one event is sent again whatever is asked for
    /// now.
    fileprivate func wants(_ event: SessionEvent) -> Bool {
        guard batchFirst != nil else { return true }
        let kind = event.kind
        return kind != .sessionEventsFinished
            && event.isInScope(of: subscription, isScoped: isScoped)
            && (filter?.contains(kind) ?? kind.isSentUnasked)
    }

    /// Returns the message's events; nil when they are no longer kept.
    fileprivate func outgoing(_ events: [SessionEvent]) -> OutgoingMessage? {
        guard batchFirst == nil else { return OutgoingMessage(batch: events, of: subscription) }
        return events.first.map { OutgoingMessage($0) }
    }
}
