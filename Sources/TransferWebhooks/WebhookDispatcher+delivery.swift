import Foundation
import Logging
import Synchronization
import TransferModel
import TransferStore

extension WebhookDispatcher {
    private static let recordPauseMin: Duration = .milliseconds(50)
    private static let recordPauseMax: Duration = .seconds(2)

    /// Delivers a pair's events until none is left, one fails, or the dispatcher stops.
    func deliver(_ held: HeldClaim) async {
        var held = held
        while !isDraining {
            let signals = signalCount.load(ordering: .relaxed)
            guard let events = await events(of: held) else {
                return await release(held)
            }
            guard await deliver(events, &held) else { return }
            guard events.count == bounds.pageMax else {
                await release(held)
                // The release leaves the pair due when events came meanwhile; whoever wrote them
                // has signalled before that and found the pair taken.
                if signalCount.load(ordering: .relaxed) != signals { wake() }
                return
            }
        }
        await release(held)
    }

    /// - Returns: false when the claim has ended.
    private func deliver(_ events: [SessionEvent], _ held: inout HeldClaim) async -> Bool {
        for event in events where held.wants(event.kind) {
            await keepPace(of: held.claim)
            guard !isDraining, held.isTrusted(at: .now) else {
                await release(held)
                return false
            }
            switch await attempt(event, held) {
            case .delivered(let status):
                guard await advance(&held, to: event.sequence, status: status) else { return false }
            case .failed(let failure):
                await fail(held, event, failure)
                return false
            case .abandoned:
                await release(held)
                return false
            }
        }
        // What the subscription does not ask for counts as delivered.
        guard let last = events.last, last.sequence > held.cursor else { return true }
        return await advance(&held, to: last.sequence, status: nil)
    }

    private func attempt(_ event: SessionEvent, _ held: HeldClaim) async -> DeliveryOutcome {
        guard let message = WebhookMessage(event, linkBase: linkBase) else {
            return .failed(DeliveryFailure(reason: "service"))
        }
        let outcome = await sender.send(message, to: held.claim.endpoint)
        // Given up by nobody here: the curl loop is gone. Given back, the pair would be due at once.
        if outcome == .abandoned, !Task.isCancelled {
            return .failed(DeliveryFailure(reason: "service"))
        }
        return outcome
    }

    /// Waits until the subscription's rate limit lets another message out.
    private func keepPace(of claim: DeliveryClaim) async {
        guard let rate = claim.rateLimit else { return }
        let wait = state.withLock { state in
            state.paces[claim.subscription, default: DeliveryPace(from: .now)]
                .wait(messagesPerSecond: rate, at: .now)
        }
        // Ends early when the dispatcher is cancelled, which the caller sees.
        try? await Task.sleep(for: wait)
    }

    private var isDraining: Bool {
        Task.isCancelled || state.withLock { $0.slots.isDraining }
    }
}

// MARK: - What the store is told

extension WebhookDispatcher {
    private func events(of held: HeldClaim) async -> [SessionEvent]? {
        do throws(StoreError) {
            return try await store.events(
                of: held.claim.session,
                after: held.cursor,
                limit: bounds.pageMax
            )
        } catch {
            if !Task.isCancelled { watch.failed(error) }
            return nil
        }
    }

    private func advance(
        _ held: inout HeldClaim,
        to sequence: Int64,
        status: Int?
    ) async -> Bool {
        let expiresAt = ContinuousClock.now + bounds.lease - bounds.leaseMargin
        let claim = held.claim
        let isRecorded = await record(until: held.expiresAt) {
            [store, bounds] () throws(StoreError) in
            try await store.recordDelivered(
                claim,
                through: sequence,
                status: status,
                lease: bounds.lease
            )
        }
        if isRecorded { held.advance(to: sequence, until: expiresAt) }
        return isRecorded
    }

    private func fail(_ held: HeldClaim, _ event: SessionEvent, _ failure: DeliveryFailure) async {
        let claim = held.claim
        let number = held.tries + 1
        let wait = schedule.wait(
            afterTry: number,
            retryAfter: failure.retryAfter,
            chance: .random(in: 0..<1)
        )
        logger.notice(
            "webhook not delivered",
            metadata: [
                "subscription": "\(claim.subscription)",
                "event": "\(event.id.uuidString.lowercased())",
                "status": "\(failure.status.map(String.init) ?? "none")",
                "reason": "\(failure.reason)",
                "attempt": "\(number)",
                "retry_after": "\(wait)",
            ]
        )
        _ = await record(until: held.expiresAt) { [store] () throws(StoreError) in
            try await store.recordDeliveryFailed(
                claim,
                status: failure.status,
                error: failure.reason,
                retryAfter: wait
            )
        }
    }

    func release(_ held: HeldClaim) async {
        _ = await record(until: .now) { [store] () throws(StoreError) in
            try await store.releaseDelivery(held.claim)
        }
    }

    /// Writes what has happened, again while the database is away and the lease lasts: a record
    /// that is lost costs the receiver a second copy of the message.
    ///
    /// - Returns: whether it was written; false also when the claim has become stale.
    private func record(
        until deadline: ContinuousClock.Instant,
        _ verb: @escaping @Sendable () async throws(StoreError) -> Bool
    ) async -> Bool {
        var pause = Self.recordPauseMin
        while true {
            // Unstructured, because a shutdown cancels this task but cannot undo what is recorded.
            let result = await Task { () async -> Result<Bool, StoreError> in
                do throws(StoreError) {
                    return .success(try await verb())
                } catch {
                    return .failure(error)
                }
            }.value
            switch result {
            case .success(let isOurs):
                return isOurs
            case .failure(let error):
                watch.failed(error)
                guard case .unavailable = error, !isDraining, .now + pause < deadline else {
                    return false
                }
                try? await Task.sleep(for: pause)
                pause = min(pause * 2, Self.recordPauseMax)
            }
        }
    }
}
