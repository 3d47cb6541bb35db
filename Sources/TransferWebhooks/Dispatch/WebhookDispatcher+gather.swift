import Logging
import TransferModel
import TransferStore

extension WebhookDispatcher {
    /// Reads as much as makes a message, or one page where each event has its own.
    ///
    /// It ends before events that are kept no longer; where they are the next, they are passed.
    ///
    /// - Returns: nil when the store does not tell, or the claim has ended.
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
            // What was read before a gap is delivered first; then the gap is met again.
            if kept.count < page.count { break }
        } while !run.isFull
        return run
    }

    /// The events that follow each other without a gap; there is one where some are kept no longer.
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

    /// Passes over the next events of a pair if they are kept no longer, and has that told.
    ///
    /// - Returns: false when the claim has ended.
    private func passExpired(_ held: inout HeldClaim) async -> Bool {
        // What was taken would be told to have expired.
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
        // The event that tells of them is due.
        wake()
        return true
    }
}
