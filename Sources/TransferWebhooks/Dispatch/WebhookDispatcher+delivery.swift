import Foundation
import Logging
import PollLoop
import Synchronization
import TransferModel
import TransferStore
import TransferWire

extension WebhookDispatcher {
    /// The status by which a receiver says that it wants nothing more (RFC 9110 §15.5.11).
    private static let goneStatus = 410
    /// The status by which a receiver says that it is not done with `session.events_finished` yet.
    private static let acceptedStatus = 202

    /// Delivers a pair's events until none is left, one fails, the subscription is no longer as it
    /// was claimed, the dispatcher stops, or a turn ends and the pair has to leave its slot.
    ///
    /// - Returns: the pair that has the slot then, if this one has given way to it.
    func deliver(_ held: HeldDelivery) async -> HeldDelivery? {
        var held = held
        var turn = DeliveryTurn<HeldDelivery>(bounds, at: .now)
        var pageMax = held.claim.form == .single ? bounds.pageMax : bounds.furtherPageMax
        while !isDraining, held.isCurrent, !mustLeave(held, &turn) {
            guard let batcher = await gather(&held, inPagesOf: pageMax) else { break }
            pageMax = bounds.furtherPageMax
            guard await deliver(batcher, &held, &turn) else { return turn.successor }
            guard batcher.hasMore else {
                // The writer of events that came meanwhile found the pair taken.
                if await release(held) == .due { wake() }
                return nil
            }
        }
        await leave(held, turn)
        return turn.successor
    }

    /// - Returns: false when the claim has ended.
    private func deliver(
        _ batcher: MessageBatcher,
        _ held: inout HeldDelivery,
        _ turn: inout DeliveryTurn<HeldDelivery>
    ) async -> Bool {
        for outgoing in batcher.messages {
            guard !mustLeave(held, &turn), await mayContinue(&held, havingRead: batcher.position)
            else {
                if await settle(&held) { await leave(held, turn) }
                return false
            }
            guard await deliver(outgoing, &held) else { return false }
            turn.advance()
        }
        // Events that the subscription does not ask for count as delivered, unless it has been
        // changed to ask for others.
        held.passed(batcher.position)
        turn.advance()
        return await settle(&held)
    }

    /// Returns whether a pair has to be given back because its turn is over.
    private func mustLeave(
        _ held: HeldDelivery,
        _ turn: inout DeliveryTurn<HeldDelivery>
    ) -> Bool {
        guard turn.isOver(at: .now) else { return false }
        let subscription = held.claim.subscription
        let (end, isRecalling) = state.withLock { state in
            let end = state.slots.turnEnded(subscription, at: .now)
            return (end, state.requestRecall(of: subscription))
        }
        if isRecalling { wake() }
        switch end {
        case .goesOn:
            turn.restart(at: .now)
            return false
        case .leaves:
            turn.giveUp(to: nil)
        case .givesWay(let successor):
            turn.giveUp(to: successor)
        }
        return true
    }

    /// Gives back a pair that may have further events.
    private func leave(_ held: HeldDelivery, _ turn: DeliveryTurn<HeldDelivery>) async {
        let result = await release(held)
        // It waits behind everything that is due already.
        if turn.isGivenUp, result == .due { wake() }
    }

    /// - Returns: false when the claim has ended.
    private func deliver(_ outgoing: OutgoingMessage, _ held: inout HeldDelivery) async -> Bool {
        if held.isUnacknowledged(outgoing.name, after: schedule.waits.count) {
            await fail(held, outgoing.name, .notAcknowledged, .notSent)
            return false
        }
        // A retry was admitted at its first try, whoever was woken since then.
        if held.claim.throttlesWakeUps, held.tries(of: outgoing.name) == 0,
            outgoing.last.kind == .sessionEventsFinished
        {
            guard await settle(&held) else { return false }
            guard held.isCurrent else {
                await release(held)
                return false
            }
            guard await admit(outgoing.last, held) else { return false }
        }
        guard let sent = await attempt(outgoing, held) else {
            if await settle(&held) { await release(held) }
            return false
        }
        switch sent.outcome {
        case .delivered(Self.acceptedStatus) where outgoing.last.summary != nil:
            if await settle(&held) { await awaitAck(held, outgoing.last, sent) }
            return false
        case .delivered:
            let isDue = held.took(
                outgoing.name,
                sent,
                at: .now,
                recordInterval: bounds.recordInterval
            )
            // Whoever has the end of a generation may acknowledge it beside the answer, which ends
            // this claim: then the next message is another one's.
            let isAcknowledgeable = outgoing.last.summary != nil
            return isDue || isAcknowledgeable ? await settle(&held) : true
        case .failed(let failure) where !failure.isTry:
            if await settle(&held) { await putOff(held, failure) }
            return false
        case .failed(let failure):
            if await settle(&held) { await fail(held, outgoing.name, failure, sent) }
            return false
        case .abandoned:
            if await settle(&held) { await release(held) }
            return false
        }
    }

    /// - Returns: nil when the store is away and cannot supply the message's content. That does not
    ///   count as a try: with the receiver's schedule, whose second wait is minutes, a moment
    ///   without a database would hold up the end of a generation.
    private func attempt(_ outgoing: OutgoingMessage, _ held: HeldDelivery) async -> SentMessage? {
        let claim = held.claim
        let message: WebhookMessage?
        do throws(StoreError) {
            message = try await composer.message(
                outgoing,
                of: claim.subscription,
                to: claim.endpoint
            )
        } catch {
            if !Task.isCancelled { outages.failed(error) }
            if case .unavailable = error { return nil }
            return .notSent
        }
        guard let message else { return .notSent }
        let sent = await sender.send(message, to: claim.endpoint, of: claim.tenant)
        if sent.outcome.isTry {
            state.withLock { $0.slots.took(sent.duration, claim.subscription) }
        }
        // The curl loop is gone, and nobody here gave up. A pair given back would be due at once.
        if sent.outcome == .abandoned, !Task.isCancelled { return .notSent }
        return sent
    }

    /// Waits for the turn of the pair's next message, which is not after `position`, and returns
    /// whether that may be sent.
    private func mayContinue(
        _ held: inout HeldDelivery,
        havingRead position: Int64
    ) async -> Bool {
        guard held.isCurrent else { return false }
        await waitForRate(of: held.claim)
        guard !isDraining else { return false }
        // A failure may have been the one after which the subscription is spared.
        if held.mustAsk(at: .now, recordInterval: bounds.recordInterval)
            || failures.haveAny(of: held.claim.subscription, since: held.askedAt)
        {
            guard await ask(&held, havingRead: position) else { return false }
        }
        return !isDraining && isTrusted(held)
    }

    /// Asks the store whether the subscription is still as it was claimed.
    ///
    /// - Returns: false also when the store does not answer.
    private func ask(_ held: inout HeldDelivery, havingRead position: Int64) async -> Bool {
        let askedAt = ContinuousClock.now
        do throws(StoreError) {
            let standing = try await stores.deliveries.standing(of: held.claim)
            held.asked(
                isCurrent: standing == .current,
                havingRead: position,
                since: askedAt,
                at: .now
            )
            return held.isCurrent
        } catch {
            if !Task.isCancelled { outages.failed(error) }
            return false
        }
    }

    /// Returns whether nobody else can deliver this pair yet.
    ///
    /// A worker that others take for dead loses its pairs long before their own lease is over.
    private func isTrusted(_ held: HeldDelivery) -> Bool {
        let now = ContinuousClock.now
        return held.isTrusted(at: now) && worker.isTrusted(held.claim.fence, at: now)
    }

    /// Waits until the subscription's rate limit allows another message.
    private func waitForRate(of claim: DeliveryClaim) async {
        guard let rate = claim.rateLimit else { return }
        let wait = rates.wait(of: claim.subscription, messagesPerSecond: rate, at: .now)
        // The wait ends early when the dispatcher is cancelled, which the caller notices.
        try? await Task.sleep(for: wait)
    }
}

extension WebhookDispatcher {
    /// Records the deliveries that are not recorded yet.
    ///
    /// - Returns: false when the claim has ended.
    func settle(_ held: inout HeldDelivery) async -> Bool {
        guard held.cursor > held.recordedCursor else { return true }
        let askedAt = ContinuousClock.now
        let expiresAt = askedAt + bounds.lease - bounds.leaseMargin
        let claim = held.claim
        let (sequence, certain) = (held.cursor, held.certainCursor)
        let attempt = held.unrecorded?.attempt()
        // A message that is taken at its first try is not logged.
        let logged = held.isLogged ? attempt : nil
        let standing = await recorder.record(
            until: held.expiresAt,
            whenStale: ClaimStanding.stale
        ) {
            [stores, bounds, health] () throws(StoreError) in
            try await stores.deliveries.recordDelivered(
                claim,
                through: sequence,
                certain: certain,
                status: attempt?.status,
                attempt: logged,
                lease: bounds.lease,
                health: health
            )
        }
        guard standing != .stale else { return false }
        held.recorded(until: expiresAt, at: .now)
        held.asked(isCurrent: standing == .current, since: askedAt, at: .now)
        return true
    }

    /// - Returns: false when the wake-up has to wait; then the claim has ended.
    private func admit(_ event: SessionEvent, _ held: HeldDelivery) async -> Bool {
        let admission = await recorder.record(
            until: held.expiresAt,
            whenStale: WakeUpAdmission.undecided
        ) {
            [stores] () throws(StoreError) in
            try await stores.wakeUps.admitWakeUp(held.claim, event)
        }
        if admission == .undecided { await release(held) }
        return admission == .admitted
    }

    private func awaitAck(_ held: HeldDelivery, _ event: SessionEvent, _ sent: SentMessage) async {
        let claim = held.claim
        _ = await recorder.record(until: held.expiresAt, whenStale: false) {
            [stores, health] () throws(StoreError) in
            try await stores.wakeUps.recordAwaitingAck(
                claim,
                sequence: event.sequence,
                attempt: sent.attempt(),
                timeout: claim.ackTimeout,
                health: health
            )
        }
    }

    /// Puts off a pair whose message could not be sent now, which is no fault of its receiver.
    private func putOff(_ held: HeldDelivery, _ failure: DeliveryFailure) async {
        let wait = bounds.refusedWait.jittered
        failureLog.add(
            "webhook put off",
            [
                "subscription": "\(held.claim.subscription)", "reason": "\(failure.reason)",
                "retry_after": "\(wait)",
            ]
        )
        await recorder.record(until: held.expiresAt, whenStale: ()) {
            [stores] () throws(StoreError) in
            try await stores.deliveries.postpone([(held.claim, wait)])
        }
    }

    func fail(
        _ held: HeldDelivery,
        _ message: MessageName,
        _ failure: DeliveryFailure,
        _ sent: SentMessage
    ) async {
        let claim = held.claim
        let number = held.tries(of: message) + 1
        let isGone = failure.status == Self.goneStatus
        let isOurFault = failure.reason == DeliveryFailure.serviceReason
        let isGivenUp = failure == .unreadable && number > Self.unreadableWaitsMax
        let wait =
            isGivenUp
            ? nil
            : schedule.wait(
                // A message is not given up for our own failure, nor for a receiver that may come
                // back.
                afterTry: isGone || isOurFault ? min(number, schedule.waits.count) : number,
                retryAfter: failure.retryAfter,
                chance: .random(in: 0..<1)
            )
        let setback = DeliverySetback(
            attempt: sent.attempt(as: failure),
            retryAfter: wait,
            throttle: health.throttle(status: failure.status, retryAfter: failure.retryAfter),
            isGone: isGone,
            // A receiver that answers 202 is well, however long it takes.
            isReceiversFault: !isOurFault && failure != .notAcknowledged && failure != .unreadable
        )
        var line: Logger.Metadata = [
            "subscription": "\(claim.subscription)",
            "event": "\(message.id.text)",
            "status": "\(failure.status.map(String.init) ?? "none")",
            "reason": "\(failure.reason)", "attempt": "\(number)",
        ]
        if let wait { line["retry_after"] = "\(wait)" }
        failureLog.add(wait == nil ? "webhook given up" : "webhook not delivered", line)
        let result = await recorder.record(until: held.expiresAt, whenStale: SetbackResult.stale) {
            [stores, health, latestDate] () throws(StoreError) in
            try await stores.deliveries.recordDeliveryFailed(
                claim,
                sequence: message.sequence,
                batch: message.batch,
                setback,
                health: health,
                notAfter: latestDate()
            )
        }
        failures.add(claim.subscription, at: .now)
        switch result {
        case .disabled:
            logger.warning(
                "subscription disabled",
                metadata: ["subscription": "\(claim.subscription)"]
            )
            wake()
        case .outdated:
            // The message is due, as the subscription is by now.
            wake()
        case .recorded where wait == nil:
            // The message after the one that was given up is due.
            wake()
        case .recorded, .stale:
            break
        }
    }

    /// Gives a pair back, and retries for as long as its lease lasts.
    ///
    /// Nobody else could end that lease: a store that was away for a moment must not hold the pair
    /// up for a minute.
    @discardableResult
    func release(_ held: HeldDelivery) async -> DeliveryRelease {
        let result = await recorder.record(
            until: held.expiresAt,
            whenStale: DeliveryRelease.stale
        ) {
            [stores] () throws(StoreError) in
            try await stores.deliveries.releaseDelivery(held.claim)
        }
        // What is left is to be sent as the subscription now is.
        if result == .due, !held.isCurrent { wake() }
        return result
    }
}
