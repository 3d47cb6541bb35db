import Logging
import TransferModel
import TransferStore

extension WebhookDispatcher {
    /// Reads enough events for a message, or one page where each event has its own message.
    ///
    /// It stops before events that are no longer kept; when those are the next ones, it passes
    /// them.
    ///
    /// - Returns: nil when the store does not answer, or the claim has ended.
    func gather(_ held: inout HeldClaim) async -> EventRun? {
        var run = EventRun(held)
        repeat {
            let limit = run.pageLimit(bounds.pageMax)
            guard let page = await page(of: held.claim, after: run.position, limit: limit) else {
                return nil
            }
            let kept = Self.unbroken(page, after: run.position)
            if kept.isEmpty, run.position == held.cursor {
                let cursor = held.cursor
                guard await passExpired(&held) else { return nil }
                if held.cursor > cursor {
                    run = EventRun(held)
                    continue
                }
            }
            run.add(
                kept,
                hasMore: page.count == limit || kept.count < page.count,
                wanted: held.wants,
                size: { WebhookMessage($0, linkBase: linkBase)?.body.count ?? 0 }
            )
            // Events read before a gap are delivered first; the gap is met again afterwards.
            if kept.count < page.count { break }
        } while !run.isFull
        return run
    }

    /// Returns the events before the first gap, which is where some are no longer kept.
    private static func unbroken(_ page: [SessionEvent], after position: Int64) -> [SessionEvent] {
        let count = zip(page, (position + 1)...).prefix { $0.sequence == $1 }.count
        return Array(page.prefix(count))
    }

    private func page(
        of claim: DeliveryClaim,
        after position: Int64,
        limit: Int
    ) async -> [SessionEvent]? {
        do throws(StoreError) {
            return try await stores.events.events(of: claim.session, after: position, limit: limit)
        } catch {
            if !Task.isCancelled { watch.failed(error) }
            return nil
        }
    }

    /// Passes over the next events of a pair if they are no longer kept, and has that reported.
    ///
    /// - Returns: false when the claim has ended.
    private func passExpired(_ held: inout HeldClaim) async -> Bool {
        // Delivered events that are not recorded would be reported as expired.
        guard await settle(&held) else { return false }
        let expiresAt = ContinuousClock.now + bounds.lease - bounds.leaseMargin
        let claim = held.claim
        let position = held.cursor
        let cursor = await record(until: held.expiresAt, whenStale: Int64?.none) {
            [stores, bounds] () throws(StoreError) in
            try await stores.deliveries.recordExpired(claim, lease: bounds.lease)
        }
        guard let cursor else { return false }
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
