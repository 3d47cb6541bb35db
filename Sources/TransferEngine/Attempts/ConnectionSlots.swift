import TransferModel

/// The numbers of connections, in all, to each host and of each session there, and the attempts
/// that have more than they need; it only decides and carries nothing out.
///
/// More attempts are claimed than there are connections for, so that the next one is there when a
/// connection becomes free: no attempt starts, and none takes an additional connection, beyond a
/// limit.
struct ConnectionSlots {
    /// The place where an attempt's connections count, and the limits there.
    struct Place {
        let flow: Flow
        /// The tenant whose share of all connections it uses.
        var tenant: TenantID?
        /// The maximum number of connections to the host.
        var perHost = Int.max
        /// The maximum number of connections of the session to the host.
        var perFlow = Int.max
    }

    /// The connections that one attempt has taken beyond its first.
    private struct Extra {
        let flow: Flow
        let tenant: TenantID?
        var count = 0
        /// The number of these connections that it was asked to give up.
        var wanted = 0
    }

    /// The number of connections, counted in every way that a limit counts them.
    private struct Count {
        var total = 0
        var perTenant: [TenantID?: Int] = [:]
        var perHost: [HostKey: Int] = [:]
        var perFlow: [Flow: Int] = [:]

        mutating func add(_ number: Int, to flow: Flow, of tenant: TenantID?) {
            total += number
            let own = perTenant[tenant, default: 0] + number
            perTenant[tenant] = own > 0 ? own : nil
            let atHost = perHost[flow.hostKey, default: 0] + number
            perHost[flow.hostKey] = atHost > 0 ? atHost : nil
            let inFlow = perFlow[flow, default: 0] + number
            perFlow[flow] = inFlow > 0 ? inFlow : nil
        }

        func isHostFull(_ place: Place) -> Bool {
            perHost[place.flow.hostKey, default: 0] >= place.perHost
        }

        func isFlowFull(_ place: Place) -> Bool {
            perFlow[place.flow, default: 0] >= place.perFlow
        }
    }

    private let shares: SlotShares
    private var open = Count()
    private var extras: [Fence: Extra] = [:]

    /// Creates slots for at most `max` connections of one tenant, and an eighth more for several
    /// tenants together.
    init(max: Int) { shares = SlotShares(slots: max) }

    /// Returns the attempts to ask for a connection, so that attempts in these places can start;
    /// each once for each connection, and none for what was already asked for.
    mutating func givers(for waiting: [Place]) -> [Fence] {
        // The count as it will be when all connections asked for are given up.
        var open = open
        for extra in extras.values { open.add(-extra.wanted, to: extra.flow, of: extra.tenant) }
        var givers: [Fence] = []
        for place in waiting {
            let giver: (fence: Fence, extra: Extra)? =
                if open.isFlowFull(place) {
                    spare { $0.flow == place.flow }
                } else if open.isHostFull(place) {
                    spare { $0.flow.hostKey == place.flow.hostKey }
                } else if !isShared(place.tenant, open) {
                    spare { $0.tenant == place.tenant } ?? spare { _ in true }
                } else {
                    nil
                }
            if let giver {
                extras[giver.fence]?.wanted += 1
                givers.append(giver.fence)
                open.add(-1, to: giver.extra.flow, of: giver.extra.tenant)
            }
            open.add(1, to: place.flow, of: place.tenant)
        }
        return givers
    }

    /// Asks attempts at these hosts for all connections beyond their first.
    ///
    /// - Returns: the attempts to ask, once for each connection.
    mutating func withdraw(from isMeant: (HostKey) -> Bool) -> [Fence] {
        var givers: [Fence] = []
        for (fence, extra) in extras where isMeant(extra.flow.hostKey) {
            givers += Array(repeating: fence, count: extra.count - extra.wanted)
            extras[fence]?.wanted = extra.count
        }
        return givers
    }

    /// Whether some attempt has more than its first connection.
    var hasExtra: Bool { !extras.isEmpty }

    /// Whether some attempt at these hosts has more than its first connection.
    func hasExtra(_ isMeant: (HostKey) -> Bool) -> Bool {
        extras.values.contains { isMeant($0.flow.hostKey) }
    }

    /// The attempt with the most connections to spare.
    private func spare(in isMeant: (Extra) -> Bool) -> (fence: Fence, extra: Extra)? {
        let most = extras.filter { entry in
            entry.value.count > entry.value.wanted && isMeant(entry.value)
        }.max { left, right in
            (left.value.count - left.value.wanted, right.key.rawValue)
                < (right.value.count - right.value.wanted, left.key.rawValue)
        }
        return most.map { ($0.key, $0.value) }
    }

    /// Whether a tenant's share has room for another connection.
    private func isShared(_ tenant: TenantID?, _ open: Count) -> Bool {
        shares.mayTake(own: open.perTenant[tenant, default: 0], taken: open.total)
    }

    /// Whether no connection is left, for any host and any tenant.
    var isFull: Bool { open.total >= shares.total }

    /// Takes the first connection of an attempt.
    ///
    /// - Returns: false when the attempt has to wait for a free connection.
    mutating func begin(_ place: Place) -> Bool {
        guard isShared(place.tenant, open), !open.isHostFull(place), !open.isFlowFull(place) else {
            return false
        }
        open.add(1, to: place.flow, of: place.tenant)
        return true
    }

    /// Takes an additional connection for an attempt; false when there is none.
    mutating func takeExtra(_ fence: Fence, _ place: Place) -> Bool {
        guard isShared(place.tenant, open), !open.isHostFull(place), !open.isFlowFull(place),
            extras.values.allSatisfy({ $0.wanted == 0 })
        else { return false }
        open.add(1, to: place.flow, of: place.tenant)
        extras[fence, default: Extra(flow: place.flow, tenant: place.tenant)].count += 1
        return true
    }

    /// Records that an additional connection of an attempt has ended.
    mutating func returnExtra(_ fence: Fence) {
        guard var extra = extras[fence] else { return }
        extra.count -= 1
        extra.wanted = Swift.max(0, extra.wanted - 1)
        extras[fence] = extra.count > 0 ? extra : nil
        open.add(-1, to: extra.flow, of: extra.tenant)
    }

    /// Records that an attempt has ended, with all its connections.
    mutating func end(_ fence: Fence, _ place: Place) {
        let count = 1 + (extras.removeValue(forKey: fence)?.count ?? 0)
        open.add(-count, to: place.flow, of: place.tenant)
    }
}
