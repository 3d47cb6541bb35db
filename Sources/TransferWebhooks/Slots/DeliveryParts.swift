import TransferModel

/// A count of the slots that are taken, and the rule by which another pair may take one.
///
/// Slow receivers share a part of the slots, and receivers of unknown pace share another part with
/// them. Those that turn out to be slow are moved to further slots, which none starts in. Each part
/// is shared by tenants, and also by hosts.
struct DeliveryParts {
    /// The pace at which a receiver took its last message.
    enum Pace: Equatable, Sendable {
        case quick
        /// The receiver has not been sent anything yet, as far as is remembered.
        case unknown
        case slow
    }

    /// The numbers of pairs that are being delivered, by the pace of their receivers.
    private struct Tally {
        var all = 0
        /// The pairs of receivers that are slow or unknown.
        var unproven = 0
        var slow = 0
        /// The pairs in the further slots, which are none of all these.
        var overdue = 0

        var isEmpty: Bool { all == 0 && overdue == 0 }

        mutating func add(_ count: Int, _ pace: Pace) {
            all += count
            if pace != .quick { unproven += count }
            if pace == .slow { slow += count }
        }
    }

    /// A part of the slots; a tenant's subscriptions share what the tenant may have.
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

    private let total: Int
    private let all: Part
    private let unproven: Part
    private let slow: Part
    /// The further slots; nil for none.
    private let overdue: Part?
    private var taken = Tally()
    private var takenByTenant: [TenantID: Tally] = [:]
    private var takenByHost: [String: Tally] = [:]

    /// - Parameters:
    ///   - slots: the slots that one tenant may have if it is alone.
    ///   - overdue: the further slots that it may have then.
    init(slots: Int, overdue: Int) {
        total = SlotShares(slots: slots).total
        all = Part(slots: slots)
        unproven = Part(slots: slots * 3 / 4)
        slow = Part(slots: slots / 4)
        self.overdue = overdue > 0 ? Part(slots: overdue) : nil
    }

    /// The number of pairs being delivered.
    var takenCount: Int { taken.all + taken.overdue }

    /// Whether no pair may take another slot.
    var areAllTaken: Bool { taken.all >= total }

    /// Returns whether a pair may take a slot.
    ///
    /// - Parameters:
    ///   - own: the slots that its subscription has.
    ///   - tenant: the subscription's tenant.
    ///   - host: the receiver's host, if it has one.
    ///   - pace: the receiver's pace.
    /// - Returns: whether all parts that the pair needs have a slot for it.
    func mayTake(own: Int, tenant: TenantID, host: String?, _ pace: Pace) -> Bool {
        let ofTenant = takenByTenant[tenant] ?? Tally()
        let ofHost = host.flatMap { takenByHost[$0] } ?? Tally()
        let isInPart = all.mayTake(
            own: own,
            tenant: ofTenant.all,
            host: ofHost.all,
            taken: taken.all
        )
        guard isInPart else { return false }
        if pace == .quick { return true }
        let isAllowed = unproven.mayTake(
            own: own,
            tenant: ofTenant.unproven,
            host: ofHost.unproven,
            taken: taken.unproven
        )
        guard isAllowed, pace == .slow else { return isAllowed }
        return slow.mayTake(
            own: own,
            tenant: ofTenant.slow,
            host: ofHost.slow,
            taken: taken.slow
        )
    }

    /// Returns whether a pair may leave its slot for a further one; the parameters are those of
    /// ``mayTake(own:tenant:host:_:)``, of further slots.
    func mayTakeFurther(own: Int, tenant: TenantID, host: String?) -> Bool {
        guard let overdue else { return false }
        return overdue.mayTake(
            own: own,
            tenant: takenByTenant[tenant]?.overdue ?? 0,
            host: host.flatMap { takenByHost[$0]?.overdue } ?? 0,
            taken: taken.overdue
        )
    }

    /// Counts slots that were taken, or given back if `count` is negative.
    mutating func add(_ count: Int, tenant: TenantID, host: String?, _ pace: Pace) {
        change(tenant, host) { $0.add(count, pace) }
    }

    /// Counts further slots that were taken, or given back if `count` is negative.
    mutating func addFurther(_ count: Int, tenant: TenantID, host: String?) {
        change(tenant, host) { $0.overdue += count }
    }

    private mutating func change(
        _ tenant: TenantID,
        _ host: String?,
        _ body: (inout Tally) -> Void
    ) {
        body(&taken)
        body(&takenByTenant[tenant, default: Tally()])
        if takenByTenant[tenant]?.isEmpty ?? false { takenByTenant[tenant] = nil }
        guard let host else { return }
        body(&takenByHost[host, default: Tally()])
        if takenByHost[host]?.isEmpty ?? false { takenByHost[host] = nil }
    }
}
