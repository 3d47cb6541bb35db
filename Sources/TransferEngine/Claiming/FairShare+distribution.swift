import TransferModel

/// The distribution of slots among tenants, hosts and flows.
extension FairShare {
    /// The maximum number of tasks claimed ahead for each connection that there may be.
    private static let turnsAhead = 2

    /// The slots that one distribution has given out so far.
    private struct Distribution {
        let now: ContinuousClock.Instant
        /// The number of tasks that may be claimed before there is a slot for them.
        let ahead: Int
        /// The number of tasks of each tenant that may begin now.
        let room: (TenantID) -> Int
        /// What ``room`` has answered.
        var rooms: [TenantID: Int] = [:]
        var rest: Int
        /// The number of slots taken, including those given out.
        var taken: Int
        var counts: [Flow: Int] = [:]
        var atHost: [HostKey: Int] = [:]
        var closed: Set<HostKey> = []
        var ofTenant: [TenantID: Int] = [:]
        /// The tenants that wait at a host and have nothing there; what is free there goes to them
        /// first.
        var newcomers: [HostKey: Set<TenantID>] = [:]
        /// The tenants that wait and have nothing at all; each of them gets a slot before others
        /// get another.
        var firsts: Set<TenantID> = []
        /// The flows, in the order in which they were first served.
        var order: [Flow] = []
    }

    /// Gives out at most `limit` of the slots that are free or soon will be; where `isOpenHour`,
    /// discretionary tasks count like others.
    ///
    /// A host that `isClosed` gets one task at a time, because most of its tasks would only be put
    /// off. `room` tells how many of a tenant's tasks may begin now.
    mutating func grants(
        _ limit: Int,
        isOpenHour: Bool = false,
        isClosed: (HostKey) -> Bool = { _ in false },
        room: @escaping (TenantID) -> Int = { _ in .max },
        at now: ContinuousClock.Instant = .now
    ) -> [FlowGrant] {
        isStoredSinceGrants = false
        let ahead = min(prefetch.count(now), settings.slots * Self.turnsAhead, settings.aheadMax)
        var given = Distribution(
            now: now,
            ahead: ahead,
            room: room,
            rest: min(limit, shares.total + ahead - taken),
            taken: taken
        )
        distribute(&given, isClosed) { isOpenHour || !$0.isDiscretionary }
        if !isOpenHour {
            let reserve = Int(Double(settings.slots) * settings.discretionaryReserve)
            let begun = held.count + given.counts.values.reduce(0, +)
            given.rest = min(given.rest, settings.slots - reserve - begun)
            distribute(&given, isClosed) { $0.isDiscretionary }
        }
        return given.order.compactMap { flow in
            waiting[flow].map {
                FlowGrant(flow: flow, count: given.counts[flow, default: 0], from: $0.position)
            }
        }
    }

    private mutating func distribute(
        _ given: inout Distribution,
        _ isClosed: (HostKey) -> Bool,
        among isIncluded: (WaitingFlow) -> Bool
    ) {
        guard given.rest > 0 else { return }
        var open: [TenantID: [HostKey: [Flow]]] = [:]
        (given.newcomers, given.firsts) = ([:], [])
        for (id, tenant) in tenants {
            if given.rooms[id] == nil { given.rooms[id] = given.room(id) }
            guard hasRoom(id, given) else { continue }
            // Tasks waiting at full hosts are not looked at.
            for (hostKey, flows) in tenant.waiting where room(in: hostKey, given) > 0 {
                if isClosed(hostKey) { given.closed.insert(hostKey) }
                guard room(in: hostKey, given) > 0 else { continue }
                let flows = flows.filter { flow in
                    guard !heldBack.contains(flow), let entry = waiting[flow] else { return false }
                    return isIncluded(entry.details) && room(in: flow, given) > 0
                }
                guard !flows.isEmpty else { continue }
                open[id, default: [:]][hostKey] = Array(flows)
                if tenant.held + given.ofTenant[id, default: 0] == 0 { given.firsts.insert(id) }
                guard tenants.count > 1, held(by: tenant, at: hostKey) == 0 else { continue }
                given.newcomers[hostKey, default: []].insert(id)
            }
        }
        for (id, hostKeys) in open { tenants[id]?.hostKeys.begin { hostKeys[$0] != nil } }
        round.begin { open[$0] != nil }
        while given.rest > 0, let id = round.next() {
            guard hasRoom(id, given), let hostKey = tenants[id]?.hostKeys.next() else {
                round.close(id)
                continue
            }
            let others = roomForOthers(than: id, at: hostKey, given)
            open[id]?[hostKey]?.removeAll { room(in: $0, given) <= others }
            guard let flow = first(of: open[id]?[hostKey] ?? []) else {
                tenants[id]?.hostKeys.close(hostKey)
                continue
            }
            give(flow, to: id, &given)
        }
        for id in open.keys { tenants[id]?.hostKeys.end() }
        round.end()
    }

    private mutating func give(_ flow: Flow, to id: TenantID, _ given: inout Distribution) {
        let cost = cost(of: flow.hostKey)
        round.charge(id, cost)
        tenants[id]?.hostKeys.charge(flow.hostKey, cost)
        turns += 1
        waiting[flow]?.turn = turns
        if given.counts[flow] == nil { given.order.append(flow) }
        given.counts[flow, default: 0] += 1
        given.atHost[flow.hostKey, default: 0] += 1
        given.ofTenant[id, default: 0] += 1
        given.newcomers[flow.hostKey]?.remove(id)
        given.firsts.remove(id)
        given.rest -= 1
        given.taken += 1
    }

    /// The tenants of `grants` whose running tasks have to be counted.
    func boundTenants(of grants: [FlowGrant]) -> [TenantID] {
        Set(grants.compactMap { waiting[$0.flow]?.details.tenant })
            .filter { tenants[$0]?.isBound ?? false }
    }

    /// The flow whose first task has the highest priority; among equals, the one that has waited
    /// longest.
    private func first(of flows: [Flow]) -> Flow? {
        flows.min { left, right in
            guard let left = waiting[left], let right = waiting[right] else { return false }
            return (left.position.priority.rank, left.turn)
                < (right.position.priority.rank, right.turn)
        }
    }

    private func room(in hostKey: HostKey, _ given: Distribution) -> Int {
        let count = given.atHost[hostKey, default: 0]
        let limit = limit(of: hostKey)
        let room =
            limit + ahead(at: hostKey, limit, given) - heldAtHost[hostKey, default: 0] - count
        return given.closed.contains(hostKey) ? min(room, 1 - count) : room
    }

    private func room(in flow: Flow, _ given: Distribution) -> Int {
        let atHost = room(in: flow.hostKey, given)
        guard let cap = waiting[flow]?.details.maxConnectionsPerHost else { return atHost }
        let used =
            heldInFlow[flow, default: 0] + foreign[flow, default: 0]
            + given.counts[flow, default: 0]
        return min(atHost, cap + ahead(at: flow.hostKey, cap, given) - used)
    }

    /// The number of tasks beyond the permitted connections.
    private func ahead(at hostKey: HostKey, _ limit: Int, _ given: Distribution) -> Int {
        min(prefetch.count(at: hostKey, given.now), limit * Self.turnsAhead, given.ahead)
    }

    /// The number of connections to a host that a tenant leaves to those that have none there.
    private func roomForOthers(than id: TenantID, at hostKey: HostKey, _ given: Distribution) -> Int
    {
        guard let newcomers = given.newcomers[hostKey], !newcomers.contains(id) else { return 0 }
        return newcomers.count
    }

    /// Whether a tenant may have another slot.
    private func hasRoom(_ id: TenantID, _ given: Distribution) -> Bool {
        guard let tenant = tenants[id] else { return false }
        let more = given.ofTenant[id, default: 0]
        guard more < given.rooms[id, default: .max] else { return false }
        let own = tenant.held + more
        // Tasks claimed ahead wait for a slot and have none.
        guard own < min(settings.slots + given.ahead, tenant.tasksMax ?? .max) else {
            return false
        }
        return shares.mayTake(
            own: own - given.ahead,
            taken: given.taken - given.ahead + (own > 0 ? given.firsts.count : 0)
        )
    }

    /// The number of slots taken; what a tenant has claimed beyond what it may have takes none.
    var taken: Int { tenants.values.reduce(0) { $0 + min($1.held, settings.slots) } }

    func cost(of hostKey: HostKey) -> Int64 {
        max(settings.costMin, costs[hostKey] ?? settings.costDefault)
    }
}
