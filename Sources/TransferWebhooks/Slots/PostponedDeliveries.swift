import TransferModel

/// The pairs that this instance has postponed, which may be claimed before their time.
///
/// They return at the pace of their receiver as it was when they were postponed, and the receiver
/// may have become quicker since. Only some are remembered; the others return in time. A pure
/// value: time is an argument.
struct PostponedDeliveries {
    /// The pair of a subscription that returns next.
    struct Next {
        private let claim: DeliveryClaim

        fileprivate init(_ item: Item) { claim = item.claim }

        var subscription: SubscriptionID { claim.subscription }
        var tenant: TenantID { claim.tenant }
        /// The receiver's host; nil for an address that cannot be read.
        ///
        /// Found when it is asked for: there may be thousands of pairs.
        var host: String? { claim.host }
    }

    fileprivate struct Item {
        let claim: DeliveryClaim
        let returnsAt: ContinuousClock.Instant
    }

    /// The least time between two sweeps.
    private static let sweepInterval: Duration = .seconds(10)

    private let ownMax: Int
    private var places: SlotLedger<TenantID>
    private var items: [SubscriptionID: [Item]] = [:]
    /// The subscriptions for which nothing waits any more.
    private var requested: Set<SubscriptionID> = []
    private var sweptAt: ContinuousClock.Instant?

    init(_ bounds: DeliveryBounds) {
        ownMax = bounds.postponedMax
        places = SlotLedger(slots: bounds.postponedTotalMax)
    }

    /// Remembers a pair, if there is a place for it.
    mutating func add(_ claim: DeliveryClaim, until returnsAt: ContinuousClock.Instant) {
        guard items[claim.subscription, default: []].count < ownMax,
            places.take(for: claim.tenant)
        else {
            return
        }
        items[claim.subscription, default: []].append(Item(claim: claim, returnsAt: returnsAt))
    }

    /// Returns the first pair of each subscription, those that return next before others.
    func next(at now: ContinuousClock.Instant) -> [Next] {
        items.values.compactMap { own in own.first { $0.returnsAt > now } }
            .sorted { $0.returnsAt < $1.returnsAt }
            .map { Next($0) }
    }

    /// Asks for the pairs of a subscription that has free slots.
    mutating func request(_ subscription: SubscriptionID) { requested.insert(subscription) }

    /// Returns the subscriptions whose pairs were asked for, and forgets that.
    mutating func takeRequested() -> Set<SubscriptionID> {
        defer { requested = [] }
        return requested
    }

    /// Removes the pairs of a subscription that would return next.
    ///
    /// - Returns: at most `limit` of them, and whether there are more.
    mutating func take(
        _ limit: Int,
        of subscription: SubscriptionID,
        at now: ContinuousClock.Instant
    ) -> (claims: [DeliveryClaim], hasMore: Bool) {
        forgetReturned(of: subscription, at: now)
        let own = items[subscription] ?? []
        let taken = own.prefix(limit)
        for item in taken { places.giveBack(for: item.claim.tenant) }
        items[subscription] = own.count > taken.count ? Array(own.dropFirst(limit)) : nil
        return (taken.map(\.claim), own.count > taken.count)
    }

    /// Forgets the pairs that have returned by themselves, unless that was done a moment ago.
    mutating func sweep(at now: ContinuousClock.Instant) {
        if let sweptAt, now < sweptAt + Self.sweepInterval { return }
        sweptAt = now
        for subscription in items.keys { forgetReturned(of: subscription, at: now) }
    }

    private mutating func forgetReturned(
        of subscription: SubscriptionID,
        at now: ContinuousClock.Instant
    ) {
        guard let own = items[subscription] else { return }
        let rest = own.filter { $0.returnsAt > now }
        guard rest.count < own.count else { return }
        for item in own where item.returnsAt <= now { places.giveBack(for: item.claim.tenant) }
        items[subscription] = rest.isEmpty ? nil : rest
    }
}
