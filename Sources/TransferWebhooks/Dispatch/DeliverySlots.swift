import TransferModel

/// A division of slots that decides which of the claimed pairs are delivered now.
///
/// A pair is one subscription's events of one session. A subscription gets few slots however many
/// of its sessions are due, and its tenant only as many as leave some for others; the same holds
/// for all receivers at one host. Slow receivers share a part of the slots, and receivers of
/// unknown pace share another part with them. Other claimed pairs wait here for their turn. A pair
/// that waits too long is dropped, and returns with the next claim after its lease has run out. A
/// pure value: time is an argument.
struct DeliverySlots<Claim> {
    /// The fate of a claimed pair.
    enum Admission: Equatable, Sendable {
        /// The pair is to be delivered now, and ``ended(_:)`` to be called when that is over.
        case start
        /// The pair is kept until ``next(at:)`` returns it.
        case wait
        /// The pair is neither started nor kept, but left to its lease.
        case drop
    }

    /// The pace at which a receiver took its last message.
    enum Pace: Equatable, Sendable {
        case quick
        /// The receiver has not been sent anything yet, as far as is remembered.
        case unknown
        case slow
    }

    private struct Waiting {
        let claim: Claim
        let expiresAt: ContinuousClock.Instant
    }

    /// The pairs that a subscription has running and waiting.
    private struct Line {
        let tenant: TenantID
        let host: String?
        var concurrency: Int
        var running = 0
        var waiting: [Waiting] = []
    }

    /// The numbers of pairs that are being delivered, by the pace of their receivers.
    private struct Tally {
        var all = 0
        /// The pairs of receivers that are slow or unknown.
        var unproven = 0
        var slow = 0

        mutating func add(_ count: Int, _ pace: Pace) {
            all += count
            if pace != .quick { unproven += count }
            if pace == .slow { slow += count }
        }
    }

    /// A part of the slots, shared by tenants and also by hosts; a tenant's subscriptions share
    /// what the tenant may have.
    private struct Part {
        private let ofAll: SlotShares
        private let ofSubscriptions: SlotShares

        init(slots: Int) {
            ofAll = SlotShares(slots: max(1, slots))
            // With their additional eighth they are as many as the tenant may have.
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
    /// The subscriptions that have anything running or waiting.
    private var lines: [SubscriptionID: Line] = [:]
    private var paces: [SubscriptionID: Pace] = [:]
    private var running = Tally()
    private var runningOfTenant: [TenantID: Tally] = [:]
    private var runningOfHost: [String: Tally] = [:]
    /// The places of waiting pairs.
    private var places: SlotLedger<TenantID>
    /// The subscriptions of each tenant with waiting pairs, in the order of their turns.
    private var turns: [TenantID: [SubscriptionID]] = [:]
    /// The tenants of `turns`, in the order of their own turns.
    private var tenantTurns: [TenantID] = []
    /// Whether no more pairs are started.
    private(set) var isDraining = false

    init(bounds: DeliveryBounds) {
        self.bounds = bounds
        shares = SlotShares(slots: bounds.pairsMax)
        part = Part(slots: bounds.pairsMax)
        unprovenPart = Part(slots: bounds.pairsMax * 3 / 4)
        slowPart = Part(slots: bounds.pairsMax / 4)
        places = SlotLedger(slots: bounds.waitingTotalMax)
    }

    /// The number of pairs being delivered.
    var runningCount: Int { running.all }

    /// The number of further pairs that may be claimed.
    var freeCount: Int {
        guard !isDraining, running.all < shares.total else { return 0 }
        return min(bounds.claimMax, places.freeCount)
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

    /// Records how long the receiver of a subscription took for a message.
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

    /// Records that a pair of `subscription` is no longer being delivered.
    mutating func ended(_ subscription: SubscriptionID) {
        guard let line = lines[subscription] else { return }
        precondition(line.running > 0, "a pair that was not started has ended")
        count(-1, of: line, paces[subscription] ?? .unknown)
        lines[subscription]?.running -= 1
        forgetIfIdle(subscription)
    }

    /// Starts a waiting pair, if any may be started.
    ///
    /// - Parameter now: the time, by which pairs that have waited too long are dropped.
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

    /// Whether a waiting pair may be started.
    var hasNext: Bool { nextSubscription != nil }

    /// Stops starting pairs.
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

    /// Forgets the paces of receivers that have nothing running.
    private mutating func forgetPaces() {
        paces = paces.filter { (lines[$0.key]?.running ?? 0) > 0 }
    }
}
