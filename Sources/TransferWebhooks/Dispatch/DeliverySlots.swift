import TransferModel

/// Decides which of the claimed pairs are delivered now.
///
/// A pair is one subscription's events of one session. A subscription gets few slots however many
/// of its sessions are due, and its tenant no more than leaves some for others, nor do all receivers
/// at one host; receivers that were slow share a part of them, and so do those of which nothing is
/// known yet with them. What is claimed beyond that waits here for its turn; what waits too long is
/// dropped, and returns with the next claim after its lease has run out. A pure value: time is an
/// argument.
struct DeliverySlots<Claim> {
    /// What becomes of a claimed pair.
    enum Admission: Equatable, Sendable {
        /// Deliver it now and call ``ended(_:)`` when that is over.
        case start
        /// Kept until ``next(at:)`` returns it.
        case wait
        /// Neither: leave it to its lease.
        case drop
    }

    /// How long a receiver took for its last message.
    enum Pace: Equatable, Sendable {
        case quick
        /// It has not been sent anything yet, as far as is remembered.
        case unknown
        case slow
    }

    private struct Waiting {
        let claim: Claim
        let expiresAt: ContinuousClock.Instant
    }

    /// What a subscription has running and waiting.
    private struct Line {
        let tenant: TenantID
        let host: String?
        var concurrency: Int
        var running = 0
        var waiting: [Waiting] = []
    }

    /// Pairs that are being delivered, by the pace of their receivers.
    private struct Tally {
        var all = 0
        /// Of receivers that are slow or unknown.
        var unproven = 0
        var slow = 0

        mutating func add(_ count: Int, _ pace: Pace) {
            all += count
            if pace != .quick { unproven += count }
            if pace == .slow { slow += count }
        }
    }

    /// A part of the slots: tenants share it, and so do hosts; in what a tenant may have its
    /// subscriptions do.
    private struct Part {
        private let ofAll: SlotShares
        private let ofSubscriptions: SlotShares

        init(slots: Int) {
            ofAll = SlotShares(slots: max(1, slots))
            // With the eighth beside them as many as the tenant may have.
            ofSubscriptions = SlotShares(slots: max(1, (slots * 8 + 8) / 9))
        }

        func mayTake(own: Int, tenant: Int, host: Int, taken: Int) -> Bool {
            ofAll.mayTake(own: tenant, taken: taken) && ofAll.mayTake(own: host, taken: taken)
                && ofSubscriptions.mayTake(own: own, taken: tenant)
        }
    }

    private let bounds: DeliveryBounds
    private let shares: SlotShares
    private let part: Part
    private let unprovenPart: Part
    private let slowPart: Part
    /// Of subscriptions that have anything running or waiting.
    private var lines: [SubscriptionID: Line] = [:]
    private var paces: [SubscriptionID: Pace] = [:]
    private var running = Tally()
    private var runningOfTenant: [TenantID: Tally] = [:]
    private var runningOfHost: [String: Tally] = [:]
    /// Places of those that wait.
    private var places: SlotLedger<TenantID>
    /// Of each tenant the subscriptions with something waiting, in the order of their turns.
    private var turns: [TenantID: [SubscriptionID]] = [:]
    /// The tenants of `turns`, in the order of theirs.
    private var tenantTurns: [TenantID] = []
    /// Whether nothing new is started any more.
    private(set) var isDraining = false

    init(bounds: DeliveryBounds) {
        self.bounds = bounds
        shares = SlotShares(slots: bounds.pairsMax)
        part = Part(slots: bounds.pairsMax)
        unprovenPart = Part(slots: bounds.pairsMax * 3 / 4)
        slowPart = Part(slots: bounds.pairsMax / 4)
        places = SlotLedger(slots: bounds.waitingTotalMax)
    }

    /// Pairs being delivered.
    var runningCount: Int { running.all }

    /// How many pairs more may be claimed.
    var freeCount: Int {
        guard !isDraining, running.all < shares.total else { return 0 }
        return min(bounds.claimMax, places.freeCount)
    }

    /// Finds a place for a pair that has been claimed.
    ///
    /// - Parameters:
    ///   - claim: the pair.
    ///   - subscription: whose slots it needs.
    ///   - tenant: whose subscription that is.
    ///   - host: where its receiver is; nil for one that cannot be reached anyway.
    ///   - concurrency: how many the subscription has; nil for the bound of all.
    ///   - expiry: until when it may still be started.
    /// - Returns: what becomes of it.
    mutating func admit(
        _ claim: Claim,
        of subscription: SubscriptionID,
        tenant: TenantID,
        host: String? = nil,
        concurrency: Int? = nil,
        until expiry: ContinuousClock.Instant
    ) -> Admission {
        guard !isDraining else { return .drop }
        var line = lines[subscription] ?? Line(tenant: tenant, host: host, concurrency: 0)
        line.concurrency = concurrency ?? bounds.perSubscriptionMax
        lines[subscription] = line
        if line.waiting.isEmpty, mayStart(subscription) {
            begin(subscription)
            return .start
        }
        guard line.waiting.count < bounds.waitingMax, places.take(for: tenant) else {
            forgetIfIdle(subscription)
            return .drop
        }
        if line.waiting.isEmpty { addTurn(of: subscription, tenant) }
        lines[subscription]?.waiting.append(Waiting(claim: claim, expiresAt: expiry))
        return .wait
    }

    /// Takes note of how long the receiver of a subscription took for a message.
    mutating func took(_ duration: Duration, _ subscription: SubscriptionID) {
        let pace = duration < bounds.quickMax ? Pace.quick : .slow
        let before = paces[subscription] ?? .unknown
        guard pace != before else { return }
        if paces.count >= bounds.pacesMax { forgetPaces() }
        if let line = lines[subscription], line.running > 0 {
            count(-line.running, of: line, before)
            count(line.running, of: line, pace)
        }
        paces[subscription] = pace
    }

    /// Takes note that a pair of `subscription` is no longer being delivered.
    mutating func ended(_ subscription: SubscriptionID) {
        guard let line = lines[subscription] else { return }
        precondition(line.running > 0, "a pair that was not started has ended")
        count(-1, of: line, paces[subscription] ?? .unknown)
        lines[subscription]?.running -= 1
        forgetIfIdle(subscription)
    }

    /// Starts a pair that waits, if any may be started.
    ///
    /// - Parameter now: the time, by which what has waited too long is dropped.
    /// - Returns: the pair, to be delivered as one that was admitted to start.
    mutating func next(at now: ContinuousClock.Instant) -> Claim? {
        while let subscription = nextSubscription {
            guard let next = popWaiting(of: subscription) else { return nil }
            guard next.expiresAt > now else {
                forgetIfIdle(subscription)
                continue
            }
            begin(subscription)
            return next.claim
        }
        return nil
    }

    /// Whether a pair waits that may be started.
    var hasNext: Bool { nextSubscription != nil }

    /// Starts nothing from now on.
    ///
    /// - Returns: the pairs that waited and are to be given back.
    mutating func drain() -> [Claim] {
        isDraining = true
        let claims = lines.values.flatMap { $0.waiting.map(\.claim) }
        for subscription in lines.keys { lines[subscription]?.waiting = [] }
        places = SlotLedger(slots: bounds.waitingTotalMax)
        (turns, tenantTurns) = ([:], [])
        return claims
    }

    private func mayStart(_ subscription: SubscriptionID) -> Bool {
        guard let line = lines[subscription], line.running < line.concurrency else { return false }
        let own = line.running
        let tenant = runningOfTenant[line.tenant] ?? Tally()
        let host = line.host.flatMap { runningOfHost[$0] } ?? Tally()
        let isInPart = part.mayTake(
            own: own,
            tenant: tenant.all,
            host: host.all,
            taken: running.all
        )
        guard isInPart else { return false }
        let pace = paces[subscription] ?? .unknown
        if pace == .quick { return true }
        let isAllowed = unprovenPart.mayTake(
            own: own,
            tenant: tenant.unproven,
            host: host.unproven,
            taken: running.unproven
        )
        guard isAllowed, pace == .slow else { return isAllowed }
        return slowPart.mayTake(
            own: own,
            tenant: tenant.slow,
            host: host.slow,
            taken: running.slow
        )
    }

    private mutating func begin(_ subscription: SubscriptionID) {
        guard let line = lines[subscription] else { return }
        lines[subscription]?.running += 1
        count(1, of: line, paces[subscription] ?? .unknown)
    }

    private mutating func count(_ count: Int, of line: Line, _ pace: Pace) {
        running.add(count, pace)
        runningOfTenant[line.tenant, default: Tally()].add(count, pace)
        if runningOfTenant[line.tenant]?.all == 0 { runningOfTenant[line.tenant] = nil }
        guard let host = line.host else { return }
        runningOfHost[host, default: Tally()].add(count, pace)
        if runningOfHost[host]?.all == 0 { runningOfHost[host] = nil }
    }

    /// Tenants take turns, and so do the subscriptions of each.
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
        turns[line.tenant]?.removeAll { $0 == subscription }
        tenantTurns.removeAll { $0 == line.tenant }
        if turns[line.tenant]?.isEmpty ?? true {
            turns[line.tenant] = nil
        } else {
            tenantTurns.append(line.tenant)
        }
        if line.waiting.count > 1 { addTurn(of: subscription, line.tenant) }
        return next
    }

    private mutating func forgetIfIdle(_ subscription: SubscriptionID) {
        guard let line = lines[subscription], line.running == 0, line.waiting.isEmpty else {
            return
        }
        lines[subscription] = nil
    }

    /// Forgets how quick those were that have nothing running.
    private mutating func forgetPaces() {
        paces = paces.filter { (lines[$0.key]?.running ?? 0) > 0 }
    }
}
