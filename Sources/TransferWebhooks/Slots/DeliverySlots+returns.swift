import TransferModel

/// The returns of pairs that found no place.
extension DeliverySlots {
    /// Returns how long a pair of a subscription waits that found no place.
    mutating func postponement(
        of subscription: SubscriptionID,
        at now: ContinuousClock.Instant
    ) -> Duration {
        let interval = lines[subscription]?.expectedInterval(at: now) ?? .zero
        let count = lines[subscription]?.waiting.count ?? 0
        if returns.count >= bounds.pacesMax { returns = [:] }
        var own = returns[subscription] ?? DeliveryReturns(bounds, at: now)
        // What does not get its turn by then waits no longer.
        let lineMax = bounds.lease - bounds.leaseMargin
        let wait = own.wait(
            after: count > 0 ? min(interval * count, lineMax) : nil,
            distance: interval,
            at: now
        )
        returns[subscription] = own
        return wait
    }

    /// Returns how many postponed pairs of a subscription are to be claimed before their time; zero
    /// while others of it wait for a slot, or when none was postponed.
    func recallCount(of subscription: SubscriptionID) -> Int {
        guard !isDraining, returns[subscription] != nil else { return 0 }
        guard let line = lines[subscription] else { return bounds.claimMax }
        guard line.waiting.isEmpty else { return 0 }
        guard let interval = line.interval, interval > .zero else { return bounds.claimMax }
        // As many as have their turn before their claims end.
        let count = min((bounds.lease - bounds.leaseMargin) / interval, Double(bounds.claimMax))
        return max(line.concurrency, Int(count))
    }

    /// Forgets that pairs of a subscription were postponed: they have returned, or soon will.
    mutating func forgetReturns(of subscription: SubscriptionID) { returns[subscription] = nil }

    /// Returns those subscriptions of postponed pairs that have nothing else running or waiting,
    /// and a slot for one each.
    func startable(_ pairs: [PostponedDeliveries.Next]) -> [SubscriptionID] {
        guard !areAllTaken else { return [] }
        // A copy, in which they have their slots.
        var parts = self.parts
        var found: [SubscriptionID] = []
        for pair in pairs where lines[pair.subscription] == nil {
            let pace = self.pace(of: pair.subscription)
            guard recallCount(of: pair.subscription) > 0,
                parts.mayTake(own: 0, tenant: pair.tenant, host: pair.host, pace)
            else { continue }
            parts.add(1, tenant: pair.tenant, host: pair.host, pace)
            found.append(pair.subscription)
        }
        return found
    }
}
