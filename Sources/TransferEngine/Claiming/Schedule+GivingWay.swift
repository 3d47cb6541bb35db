import TransferModel

/// The choice of the attempts that give way.
///
/// A transfer may last for ever and occupy its connection as long. So a tenant that waits where it
/// has nothing, while another tenant has several connections, gets one of those.
extension Schedule {
    /// A tenant that waits for its first connection to a host.
    struct Newcomer: Hashable {
        let tenant: TenantID
        let lane: Lane
    }

    /// The maximum number of newcomers for whom an attempt is sought at once; each search goes
    /// through all running attempts.
    private static let searchesMax = 16

    /// The number of tasks a tenant has at a host, running or about to run.
    func held(by tenant: Tenant, at lane: Lane) -> Int {
        tenant.uses[lane, default: 0] - tenant.waiting[lane, default: []].count
    }

    /// Returns the attempts to be given back so that others get their first connection; each
    /// attempt is returned once.
    ///
    /// The tenant with the most attempts gives up the one that has received least, together with
    /// all attempts it has waiting there, which would otherwise take the freed place. `unconnected`
    /// are the attempts that wait for a connection.
    ///
    /// Where connections become free by themselves within the patience of ``Settings``, no attempt
    /// gives way.
    mutating func givingWay(
        unconnected: Set<Fence> = [],
        at now: ContinuousClock.Instant = .now
    ) -> [Fence] {
        guard isShared else {
            newcomers = [:]
            return []
        }
        var since: [Newcomer: ContinuousClock.Instant] = [:]
        var fences: [Fence] = []
        var searches = 0
        for newcomer in shutOut(unconnected) {
            let start = newcomers[newcomer] ?? now
            since[newcomer] = start
            guard now - start >= settings.patience, searches < Self.searchesMax else { continue }
            searches += 1
            // The newcomer's turn comes when the attempt that gives way has ended.
            let givers = givers(for: newcomer, unconnected)
            guard !givers.isEmpty else { continue }
            for fence in givers { held[fence]?.givesWay = true }
            fences += givers
            since[newcomer] = now
        }
        newcomers = since
        return fences
    }

    /// The tenants without a connection to a host where their tasks wait, and without a chance to
    /// get one.
    private func shutOut(_ unconnected: Set<Fence>) -> Set<Newcomer> {
        let taken = taken
        var waits: [Newcomer: Int] = [:]
        for entry in unconnected.lazy.compactMap({ held[$0] }) where !entry.givesWay {
            waits[Newcomer(tenant: entry.tenant, lane: entry.flow.lane), default: 0] += 1
        }
        // A claimed task waits for nothing but a connection.
        var shutOut = Set(
            waits.filter { newcomer, count in
                limit(of: newcomer.lane) > 0
                    && tenants[newcomer.tenant].map { held(by: $0, at: newcomer.lane) } == count
            }.keys
        )
        for (id, tenant) in tenants {
            for (lane, flows) in tenant.waiting where held(by: tenant, at: lane) == 0 {
                guard flows.contains(where: { !heldBack.contains($0) }),
                    isShut(lane, for: tenant, taken: taken)
                else { continue }
                shutOut.insert(Newcomer(tenant: id, lane: lane))
            }
        }
        return shutOut
    }

    /// Whether a tenant that has nothing at a host can get nothing there.
    private func isShut(_ lane: Lane, for tenant: Tenant, taken: Int) -> Bool {
        let limit = limit(of: lane)
        guard limit > 0 else { return false }
        return heldInLane[lane, default: 0] >= limit
            || !shares.mayTake(own: tenant.held, taken: taken)
    }

    private func givers(for newcomer: Newcomer, _ unconnected: Set<Fence>) -> [Fence] {
        let isLaneFull =
            heldInLane[newcomer.lane, default: 0] >= limit(of: newcomer.lane)
        var counts: [TenantID: Int] = [:]
        var candidates: [(fence: Fence, entry: Held)] = []
        var followers: [(fence: Fence, entry: Held)] = []
        for (fence, entry) in held where !entry.givesWay {
            guard !isLaneFull || entry.flow.lane == newcomer.lane else { continue }
            guard !unconnected.contains(fence) else {
                followers.append((fence, entry))
                continue
            }
            counts[entry.tenant, default: 0] += 1
            if entry.mayGiveWay { candidates.append((fence, entry)) }
        }
        let giver = candidates.filter { counts[$0.entry.tenant, default: 0] > 1 }
            .min { left, right in
                // The tenant with the most there, then the least received, then the newest.
                (-counts[left.entry.tenant, default: 0], left.entry.charged, -left.fence.rawValue)
                    < (
                        -counts[right.entry.tenant, default: 0], right.entry.charged,
                        -right.fence.rawValue
                    )
            }
        guard let giver else { return [] }
        return [giver.fence]
            + followers.filter { $0.entry.flow.lane == giver.entry.flow.lane }
            .filter { $0.entry.tenant == giver.entry.tenant }.map(\.fence)
    }
}
