import TransferModel

/// Who gives way.
///
/// A transfer may last for ever, and with it whatever it occupies. So a tenant that waits where it
/// has nothing, while another one has several, gets one of those.
extension Schedule {
    /// A tenant that waits for its first connection to a host.
    struct Newcomer: Hashable {
        let tenant: TenantID
        let lane: Lane
    }

    /// Newcomers for whom somebody is looked for at once; each look passes over all that runs.
    private static let searchesMax = 16

    /// How many tasks a tenant has running at a host.
    func held(by tenant: Tenant, at lane: Lane) -> Int {
        tenant.uses[lane, default: 0] - tenant.waiting[lane, default: []].count
    }

    /// Which attempts are to be given back so that others come to their first connection, each told
    /// once: of the tenant that has most, the one that has brought least.
    ///
    /// Where connections become free by themselves within the patience of ``Settings``, nobody
    /// gives way.
    mutating func givingWay(at now: ContinuousClock.Instant = .now) -> [Fence] {
        guard tenants.count > 1 else {
            newcomers = [:]
            return []
        }
        let taken = taken
        var since: [Newcomer: ContinuousClock.Instant] = [:]
        var fences: [Fence] = []
        var searches = 0
        for (id, tenant) in tenants {
            for (lane, flows) in tenant.waiting where held(by: tenant, at: lane) == 0 {
                guard flows.contains(where: { !heldBack.contains($0) }),
                    isShut(lane, for: tenant, taken: taken)
                else { continue }
                let newcomer = Newcomer(tenant: id, lane: lane)
                let start = newcomers[newcomer] ?? now
                since[newcomer] = start
                guard now - start >= settings.patience, searches < Self.searchesMax else {
                    continue
                }
                searches += 1
                // Its turn comes with the end of the one that gives way.
                guard let fence = giver(for: newcomer) else { continue }
                held[fence]?.givesWay = true
                fences.append(fence)
                since[newcomer] = now
            }
        }
        newcomers = since
        return fences
    }

    /// Whether a tenant that has nothing at a host can get nothing there.
    private func isShut(_ lane: Lane, for tenant: Tenant, taken: Int) -> Bool {
        let limit = limit(of: lane)
        guard limit > 0 else { return false }
        return heldInLane[lane, default: 0] >= limit
            || !shares.mayTake(own: tenant.held, taken: taken)
    }

    private func giver(for newcomer: Newcomer) -> Fence? {
        let isLaneFull =
            heldInLane[newcomer.lane, default: 0] >= limit(of: newcomer.lane)
        var counts: [TenantID: Int] = [:]
        var candidates: [(fence: Fence, entry: Held)] = []
        for (fence, entry) in held where !entry.givesWay {
            guard !isLaneFull || entry.flow.lane == newcomer.lane else { continue }
            counts[entry.tenant, default: 0] += 1
            if entry.mayGiveWay { candidates.append((fence, entry)) }
        }
        return candidates.filter { counts[$0.entry.tenant, default: 0] > 1 }
            .min { left, right in
                // The most there, then the least brought, then the newest.
                (-counts[left.entry.tenant, default: 0], left.entry.charged, -left.fence.rawValue)
                    < (
                        -counts[right.entry.tenant, default: 0], right.entry.charged,
                        -right.fence.rawValue
                    )
            }?.fence
    }
}
