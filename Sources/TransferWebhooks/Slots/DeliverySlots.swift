import TransferModel

/// A division of slots that decides which of the claimed pairs are delivered now.
///
/// A pair is one subscription's events of one session. A subscription gets few slots however many
/// of its sessions are due, and its tenant only as many as leave some for others; the same holds
/// for all receivers at one host. Slow receivers share a part of the slots, and receivers of
/// unknown pace share another part with them. What is still on its way to one of these when it
/// counts as slow leaves its slot to others, and has a further one meanwhile. Other claimed pairs
/// wait here for their turn, as many as will probably have it before their claims end. The rest is
/// postponed, and claimed again when it may find a place. A pure value: time is an argument.
struct DeliverySlots<Claim> {
    /// The fate of a claimed pair.
    enum Admission: Equatable, Sendable {
        /// The pair is to be delivered now, and ``ended(_:at:)`` to be called when that is over.
        case start
        /// The pair is kept until ``next(at:)`` returns it.
        case wait
        /// The pair is neither started nor kept, and is to be due again after the time.
        case postpone(Duration)
    }

    /// What becomes of a pair at the end of its turn.
    enum TurnEnd {
        /// Nobody waits for its slot, and it begins another turn.
        case goesOn
        /// Its receiver has more slots than it may have: ``ended(_:at:)`` is to be called once the
        /// pair is given back.
        case leaves
        /// Its slot is that of the other pair, and the pair itself is to be given back.
        case givesWay(to: Claim)
    }

    struct Waiting {
        let claim: Claim
        let expiresAt: ContinuousClock.Instant
    }

    /// The pairs that a subscription has running and waiting.
    struct Line {
        let tenant: TenantID
        let host: String?
        var concurrency: Int
        var running = 0
        /// The running pairs that have further slots.
        var overdue = 0
        /// The time from which the receiver counts as slow, unless it takes a message before; nil
        /// when it is known or nothing is running.
        var trialEndsAt: ContinuousClock.Instant?
        var waiting: [Waiting] = []
        /// The time from the end of one pair to the end of the next, as measured last.
        var interval: Duration?
        /// The time since which the current interval is measured.
        var measuredSince: ContinuousClock.Instant

        /// Returns the time after which another pair may probably be started.
        func expectedInterval(at now: ContinuousClock.Instant) -> Duration {
            max(interval ?? .zero, now - measuredSince)
        }
    }

    let bounds: DeliveryBounds
    /// The subscriptions that have anything running or waiting.
    var lines: [SubscriptionID: Line] = [:]
    var paces: [SubscriptionID: DeliveryParts.Pace] = [:]
    var parts: DeliveryParts
    /// The receivers of unknown pace that something is on its way to, and those that were, in the
    /// order of the times from which they count as slow.
    var trials: [(subscription: SubscriptionID, endsAt: ContinuousClock.Instant)] = []
    /// The subscriptions of which pairs were postponed.
    var returns: [SubscriptionID: DeliveryReturns] = [:]
    /// The pairs whose claims are about to end, and their subscriptions.
    private var expired: [(claim: Claim, subscription: SubscriptionID)] = []
    /// The time before which no waiting pair expires; nil when none waits.
    private var nextExpiry: ContinuousClock.Instant?
    /// The places of waiting pairs.
    private var places: SlotLedger<TenantID>
    /// The subscriptions of each tenant with waiting pairs, in the order of their turns.
    private var turns: [TenantID: [SubscriptionID]] = [:]
    /// The tenants of `turns`, in the order of their own turns.
    var tenantTurns: [TenantID] = []
    /// Whether no more pairs are started.
    private(set) var isDraining = false

    init(bounds: DeliveryBounds) {
        self.bounds = bounds
        parts = DeliveryParts(slots: bounds.pairsMax, overdue: bounds.overdueMax)
        places = SlotLedger(slots: bounds.waitingTotalMax)
    }

    /// The number of pairs being delivered.
    var runningCount: Int { parts.takenCount }

    /// Whether no pair can be started before another ends or gives way.
    var areAllTaken: Bool { parts.areAllTaken }

    /// The number of further pairs that may be claimed.
    ///
    /// It does not depend on what waits: a pair of a quick receiver may be started all the same.
    /// Where all slots are taken it is small, for pairs that are started when a turn ends: another
    /// instance may have free ones.
    var freeCount: Int {
        guard !isDraining else { return 0 }
        return areAllTaken ? max(1, bounds.claimMax / 8) : bounds.claimMax
    }

    /// Finds a place for a pair that has been claimed.
    ///
    /// - Parameters:
    ///   - claim: the pair.
    ///   - subscription: the subscription whose slots the pair needs.
    ///   - tenant: the subscription's tenant.
    ///   - host: the receiver's host; nil for one that cannot be reached anyway.
    ///   - concurrency: the subscription's number of slots; nil for the bound of all.
    ///   - expiry: the time until which the pair may still be started.
    ///   - now: the time.
    /// - Returns: what becomes of it.
    mutating func admit(
        _ claim: Claim,
        of subscription: SubscriptionID,
        tenant: TenantID,
        host: String? = nil,
        concurrency: Int? = nil,
        until expiry: ContinuousClock.Instant,
        at now: ContinuousClock.Instant
    ) -> Admission {
        guard !isDraining else { return .postpone(.zero) }
        endTrials(at: now)
        var line =
            lines[subscription]
            ?? Line(tenant: tenant, host: host, concurrency: 0, measuredSince: now)
        if line.waiting.isEmpty { line.measuredSince = now }
        line.concurrency = concurrency ?? bounds.perSubscriptionMax
        lines[subscription] = line
        if line.waiting.isEmpty, mayStart(subscription) {
            begin(subscription, at: now)
            return .start
        }
        // However long each takes, whatever ends has a successor.
        let isInTime =
            line.waiting.count < line.concurrency
            || now + line.expectedInterval(at: now) * (line.waiting.count + 1) < expiry
        guard isInTime, line.waiting.count < bounds.waitingMax, places.take(for: tenant) else {
            let wait = postponement(of: subscription, at: now)
            forgetIfIdle(subscription)
            return .postpone(wait)
        }
        if line.waiting.isEmpty { addTurn(of: subscription, tenant) }
        lines[subscription]?.waiting.append(Waiting(claim: claim, expiresAt: expiry))
        nextExpiry = min(nextExpiry ?? expiry, expiry)
        return .wait
    }

    /// Records that a pair of `subscription` is no longer being delivered at `now`.
    mutating func ended(_ subscription: SubscriptionID, at now: ContinuousClock.Instant) {
        guard let line = lines[subscription] else { return }
        precondition(line.running > 0, "a pair that was not started has ended")
        measure(line, of: subscription, at: now)
        changeRunning(of: subscription, by: -1)
        forgetIfIdle(subscription)
    }

    /// Ends the turn of a running pair of `subscription`.
    ///
    /// A slow receiver keeps no more than its part: it may have been unknown at the start.
    ///
    /// - Returns: what becomes of the pair.
    mutating func turnEnded(
        _ subscription: SubscriptionID,
        at now: ContinuousClock.Instant
    ) -> TurnEnd {
        expireWaiting(at: now)
        endTrials(at: now)
        guard let line = lines[subscription], line.running > 0 else { return .goesOn }
        let isOverdue = line.overdue > 0
        // Who may have the slot is judged as if it were free.
        changeRunning(of: subscription, by: -1)
        guard let next = nextSubscription, let waiting = popWaiting(of: next) else {
            let isSlow = isOverdue || pace(of: subscription) == .slow
            let isSurplus = isSlow && !mayStart(subscription)
            changeRunning(of: subscription, by: 1)
            if isSurplus, isOverdue { moveOverdue(subscription) }
            startTrial(of: subscription, at: now)
            return isSurplus ? .leaves : .goesOn
        }
        measure(line, of: subscription, at: now)
        begin(next, at: now)
        forgetIfIdle(subscription)
        return .givesWay(to: waiting.claim)
    }

    /// Starts a waiting pair, if any may be started.
    ///
    /// - Parameter now: the time, at which pairs that have waited too long are not started.
    /// - Returns: the pair, to be delivered as one that was admitted to start.
    mutating func next(at now: ContinuousClock.Instant) -> Claim? {
        expireWaiting(at: now)
        endTrials(at: now)
        guard let subscription = nextSubscription, let next = popWaiting(of: subscription) else {
            return nil
        }
        begin(subscription, at: now)
        return next.claim
    }

    /// Removes the pairs that have waited too long.
    ///
    /// - Returns: these pairs, each to be due again after its wait.
    mutating func takeExpired(
        at now: ContinuousClock.Instant
    ) -> [(claim: Claim, wait: Duration)] {
        expireWaiting(at: now)
        if !returns.isEmpty { returns = returns.filter { !$0.value.areOver(at: now) } }
        let taken = expired
        expired = []
        var postponed: [(claim: Claim, wait: Duration)] = []
        for item in taken {
            postponed.append((item.claim, postponement(of: item.subscription, at: now)))
        }
        return postponed
    }

    /// Whether a waiting pair may be started.
    var hasNext: Bool { nextSubscription != nil }

    /// Stops starting pairs.
    ///
    /// - Returns: the pairs that waited and are to be given back.
    mutating func drain() -> [Claim] {
        isDraining = true
        let claims = expired.map(\.claim) + lines.values.flatMap { $0.waiting.map(\.claim) }
        (expired, nextExpiry) = ([], nil)
        for subscription in lines.keys { lines[subscription]?.waiting = [] }
        places = SlotLedger(slots: bounds.waitingTotalMax)
        (turns, tenantTurns) = ([:], [])
        return claims
    }

    private func mayStart(_ subscription: SubscriptionID) -> Bool {
        guard let line = lines[subscription], line.running < line.concurrency else { return false }
        return parts.mayTake(
            own: line.running - line.overdue,
            tenant: line.tenant,
            host: line.host,
            pace(of: subscription)
        )
    }

    /// Sets apart the waiting pairs that have waited too long.
    private mutating func expireWaiting(at now: ContinuousClock.Instant) {
        guard let nextExpiry, nextExpiry <= now else { return }
        self.nextExpiry = nil
        for (subscription, line) in lines {
            let rest = line.waiting.filter { $0.expiresAt > now }
            if let first = rest.map(\.expiresAt).min() {
                self.nextExpiry = min(self.nextExpiry ?? first, first)
            }
            guard rest.count < line.waiting.count else { continue }
            for item in line.waiting where item.expiresAt <= now {
                expired.append((item.claim, subscription))
                places.giveBack(for: line.tenant)
            }
            lines[subscription]?.waiting = rest
            if rest.isEmpty { removeTurn(of: subscription, line.tenant) }
            forgetIfIdle(subscription)
        }
    }

    private mutating func begin(
        _ subscription: SubscriptionID,
        at now: ContinuousClock.Instant
    ) {
        changeRunning(of: subscription, by: 1)
        startTrial(of: subscription, at: now)
        returns[subscription]?.foundPlace()
    }

    /// Counts a pair that begins, or with -1 one that ends: of several, those in further slots are
    /// taken for the first to end.
    private mutating func changeRunning(of subscription: SubscriptionID, by count: Int) {
        guard let line = lines[subscription] else { return }
        lines[subscription]?.running += count
        if count < 0, line.overdue > 0 {
            lines[subscription]?.overdue += count
            parts.addFurther(count, tenant: line.tenant, host: line.host)
        } else {
            parts.add(count, tenant: line.tenant, host: line.host, pace(of: subscription))
        }
        if line.running + count == 0 { lines[subscription]?.trialEndsAt = nil }
    }

    /// Measures the time from the end of one pair of `line` to the end of the next.
    private mutating func measure(
        _ line: Line,
        of subscription: SubscriptionID,
        at now: ContinuousClock.Instant
    ) {
        if !line.waiting.isEmpty {
            let newest = now - line.measuredSince
            // A mean, in which the newest counts a quarter.
            lines[subscription]?.interval = line.interval.map { ($0 * 3 + newest) / 4 } ?? newest
        }
        lines[subscription]?.measuredSince = now
    }

    /// The subscription whose turn it is: tenants take turns, and so do the subscriptions of each.
    private var nextSubscription: SubscriptionID? {
        for tenant in tenantTurns {
            if let subscription = turns[tenant]?.first(where: mayStart) { return subscription }
        }
        return nil
    }

    private mutating func addTurn(of subscription: SubscriptionID, _ tenant: TenantID) {
        if turns[tenant] == nil { tenantTurns.append(tenant) }
        turns[tenant, default: []].append(subscription)
    }

    private mutating func popWaiting(of subscription: SubscriptionID) -> Waiting? {
        // At most `waitingMax` elements move, and as many subscriptions and tenants as wait.
        guard let line = lines[subscription], !line.waiting.isEmpty else { return nil }
        let next = lines[subscription]?.waiting.removeFirst()
        places.giveBack(for: line.tenant)
        removeTurn(of: subscription, line.tenant)
        if turns[line.tenant] != nil {
            tenantTurns.removeAll { $0 == line.tenant }
            tenantTurns.append(line.tenant)
        }
        if line.waiting.count > 1 { addTurn(of: subscription, line.tenant) }
        return next
    }

    private mutating func removeTurn(of subscription: SubscriptionID, _ tenant: TenantID) {
        turns[tenant]?.removeAll { $0 == subscription }
        guard turns[tenant]?.isEmpty ?? true else { return }
        turns[tenant] = nil
        tenantTurns.removeAll { $0 == tenant }
    }

    private mutating func forgetIfIdle(_ subscription: SubscriptionID) {
        guard let line = lines[subscription], line.running == 0, line.waiting.isEmpty else {
            return
        }
        lines[subscription] = nil
    }
}

extension DeliverySlots.TurnEnd: Sendable where Claim: Sendable {}
