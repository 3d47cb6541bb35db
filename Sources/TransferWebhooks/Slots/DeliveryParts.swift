import TransferModel

/// A count of the slots that are taken, and the rule by which another pair may take one.
///
/// Slow receivers share a part of the slots, and receivers of unknown pace share another part with
/// them. Each part is shared by tenants, and also by hosts.
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
    private var taken = Tally()
    private var takenByTenant: [TenantID: Tally] = [:]
    private var takenByHost: [String: Tally] = [:]

    /// - Parameter slots: the slots that one tenant may have if it is alone.
    init(slots: Int) {
        total = SlotShares(slots: slots).total
        all = Part(slots: slots)
        unproven = Part(slots: slots * 3 / 4)
        slow = Part(slots: slots / 4)
    }

    /// The number of pairs being delivered.
    var takenCount: Int { taken.all }

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

    /// Counts slots that were taken, or given back if `count` is negative.
    mutating func add(_ count: Int, tenant: TenantID, host: String?, _ pace: Pace) {
        taken.add(count, pace)
        takenByTenant[tenant, default: Tally()].add(count, pace)
        if takenByTenant[tenant]?.all == 0 { takenByTenant[tenant] = nil }
        guard let host else { return }
        takenByHost[host, default: Tally()].add(count, pace)
        if takenByHost[host]?.all == 0 { takenByHost[host] = nil }
    }
}
