import TransferModel

/// The paces of receivers.
extension DeliverySlots {
    /// The next time at which others may have the slot of a receiver that turns out to be slow; nil
    /// when nothing waits for one.
    var nextTrialEnd: ContinuousClock.Instant? {
        tenantTurns.isEmpty ? nil : trials.first?.endsAt
    }

    /// Records how long the receiver of a subscription took for a message.
    mutating func took(_ duration: Duration, _ subscription: SubscriptionID) {
        let pace = duration < bounds.quickMax ? DeliveryParts.Pace.quick : .slow
        lines[subscription]?.trialEndsAt = nil
        setPace(pace, of: subscription)
    }

    func pace(of subscription: SubscriptionID) -> DeliveryParts.Pace {
        paces[subscription] ?? .unknown
    }

    private mutating func setPace(
        _ pace: DeliveryParts.Pace,
        of subscription: SubscriptionID
    ) {
        let before = self.pace(of: subscription)
        guard pace != before else { return }
        if paces.count >= bounds.pacesMax { forgetPaces() }
        if let line = lines[subscription], line.running > line.overdue {
            let count = line.running - line.overdue
            parts.add(-count, tenant: line.tenant, host: line.host, before)
            parts.add(count, tenant: line.tenant, host: line.host, pace)
        }
        paces[subscription] = pace
    }

    /// Forgets the paces of receivers that have nothing running.
    private mutating func forgetPaces() {
        paces = paces.filter { (lines[$0.key]?.running ?? 0) > 0 }
    }

    /// Begins to wait for the first message that a receiver of unknown pace takes.
    mutating func startTrial(
        of subscription: SubscriptionID,
        at now: ContinuousClock.Instant
    ) {
        guard pace(of: subscription) == .unknown, lines[subscription]?.trialEndsAt == nil else {
            return
        }
        let end = now + bounds.quickMax
        lines[subscription]?.trialEndsAt = end
        trials.append((subscription, end))
    }

    /// Counts receivers as slow that are not done with a message by the time when a quick one is.
    ///
    /// What is on its way to them ends when it may: without that, receivers of unknown pace would
    /// wait behind each other's timeouts after each start of the service.
    mutating func endTrials(at now: ContinuousClock.Instant) {
        let ended = trials.prefix { $0.endsAt <= now }
        guard !ended.isEmpty else { return }
        trials.removeFirst(ended.count)
        for trial in ended where lines[trial.subscription]?.trialEndsAt == trial.endsAt {
            lines[trial.subscription]?.trialEndsAt = nil
            setPace(.slow, of: trial.subscription)
            moveOverdue(trial.subscription)
        }
    }

    /// Moves the running pairs of a subscription to further slots, as far as there are.
    mutating func moveOverdue(_ subscription: SubscriptionID) {
        while let line = lines[subscription], line.overdue < line.running,
            parts.mayTakeFurther(own: line.overdue, tenant: line.tenant, host: line.host)
        {
            lines[subscription]?.overdue += 1
            parts.addFurther(1, tenant: line.tenant, host: line.host)
            parts.add(-1, tenant: line.tenant, host: line.host, pace(of: subscription))
        }
    }
}
