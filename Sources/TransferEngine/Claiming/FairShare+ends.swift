import TransferModel

/// The effects of claims and of ended tasks on the fair share.
extension FairShare {
    /// The time for which a flow is believed to be held back by its tenant's limit rather than to
    /// have run dry; looks find it again by then.
    private static let heldBackMax: Duration = .seconds(1)

    /// Counts the tasks claimed for `grants`; a flow that gave fewer has run dry, unless its
    /// tenant's tasks were counted.
    mutating func took(
        _ claims: [TaskClaim],
        of grants: [FlowGrant],
        at now: ContinuousClock.Instant = .now
    ) {
        var counts: [Flow: Int] = [:]
        for claim in claims {
            let flow = claim.flow
            counts[flow, default: 0] += 1
            held[claim.fence] = Held(
                flow: flow,
                tenant: claim.tenant,
                base: claim.partial?.bytesDurable ?? 0,
                charged: cost(of: flow.hostKey),
                mayGiveWay: claim.isIdempotent
            )
            heldAtHost[flow.hostKey, default: 0] += 1
            heldInFlow[flow, default: 0] += 1
            use(flow.hostKey, by: claim.tenant)
            tenants[claim.tenant]?.held += 1
            // The next task comes after this one.
            waiting[flow]?.position = FlowPosition(priority: claim.priority, task: claim.task)
            waiting[flow]?.heldBackSince = nil
        }
        for grant in grants {
            let missing = grant.count - counts[grant.flow, default: 0]
            guard missing > 0, let entry = waiting[grant.flow] else { continue }
            let refund = -Int64(missing) * cost(of: grant.flow.hostKey)
            round.charge(entry.details.tenant, refund)
            tenants[entry.details.tenant]?.hostKeys.charge(grant.flow.hostKey, refund)
            if tenants[entry.details.tenant]?.isBound ?? false {
                holdBack(grant.flow, at: now)
            } else {
                forget(grant.flow)
            }
        }
    }

    /// Holds a flow back when its claim brought too few tasks.
    ///
    /// An ended task counts towards its tenant's limit until its end is stored, so a task that has
    /// just ended may be the reason.
    private mutating func holdBack(_ flow: Flow, at now: ContinuousClock.Instant) {
        let since = waiting[flow]?.heldBackSince ?? now
        guard now - since < Self.heldBackMax else { return forget(flow) }
        waiting[flow]?.heldBackSince = since
        // An end stored during the claim may have been stored after the claim had counted.
        if !isStoredSinceGrants { heldBack.insert(flow) }
    }

    /// Records that ends of tasks were stored, so that they no longer count.
    ///
    /// - Returns: whether a flow was held back because of them.
    mutating func stored() -> Bool {
        isStoredSinceGrants = true
        defer { heldBack = [] }
        return !heldBack.isEmpty
    }

    /// Records that a running task has reached `bytes` bytes.
    mutating func moved(_ fence: Fence, bytes: Int64) {
        guard let entry = held[fence], bytes - entry.base > entry.charged else { return }
        charge(entry, bytes - entry.base - entry.charged)
        held[fence]?.charged = bytes - entry.base
    }

    /// Records that a task has ended at `bytes` bytes, whatever its result; a second end of the
    /// same task counts nothing.
    mutating func ended(
        _ fence: Fence,
        bytes: Int64,
        at now: ContinuousClock.Instant = .now
    ) {
        guard let entry = held.removeValue(forKey: fence) else { return }
        let bytes = max(0, bytes - entry.base)
        if bytes > 0 { prefetch.ended(at: entry.flow.hostKey, now) }
        charge(entry, max(bytes, settings.costMin) - entry.charged)
        let hostKey = entry.flow.hostKey
        learn(bytes, at: hostKey)
        heldAtHost[hostKey] = heldAtHost[hostKey].flatMap { $0 > 1 ? $0 - 1 : nil }
        heldInFlow[entry.flow] = heldInFlow[entry.flow].flatMap { $0 > 1 ? $0 - 1 : nil }
        tenants[entry.tenant]?.held -= 1
        leave(hostKey, by: entry.tenant)
    }

    /// Learns from how a host has handled an attempt that is still held.
    ///
    /// - Returns: the decision about the host, if there is one.
    mutating func learn(
        _ report: HostPace.Report,
        from fence: Fence,
        bytes: Int64,
        at now: ContinuousClock.Instant
    ) -> HostPace.Decision? {
        guard let entry = held[fence], shards.contains(entry.flow.hostKey.shard) else { return nil }
        let hostKey = entry.flow.hostKey
        let isNew = paces[hostKey] == nil
        if isNew {
            // Nothing is remembered of a healthy host.
            guard report.isTrouble else { return nil }
            if paces.count >= settings.hostsMax { forgetPaces() }
            paces[hostKey] = HostPace(max: cap(of: hostKey))
        }
        let running = heldAtHost[hostKey, default: 0] + foreignAtHost[hostKey, default: 0]
        let decision = paces[hostKey]?.note(
            report,
            bytes: max(0, bytes - entry.base),
            running: running,
            at: now
        )
        guard let pace = paces[hostKey], pace.isUntroubled else { return decision }
        paces[hostKey] = nil
        // Without a decision by the pace itself, an operator has lowered the host's limit.
        guard decision == nil, !isNew else { return decision }
        return HostPace.Decision(
            before: pace.limit,
            after: pace.limit,
            reason: "No longer less than the \(pace.limit) that it may have."
        )
    }

    /// Forgets a quarter of the paces, so that the search costs little for each new host; hosts
    /// without tasks, which will have recovered, go first.
    private mutating func forgetPaces() {
        let busy = paces.keys.filter { heldAtHost[$0] != nil }
        let idle = paces.keys.filter { heldAtHost[$0] == nil }
        for hostKey in (idle + busy).prefix(max(1, settings.hostsMax / 4)) { paces[hostKey] = nil }
    }

    private mutating func charge(_ entry: Held, _ bytes: Int64) {
        round.charge(entry.tenant, bytes)
        tenants[entry.tenant]?.hostKeys.charge(entry.flow.hostKey, bytes)
    }

    /// Updates the host's running mean of costs, so that the next task is assumed to cost what the
    /// last ones did.
    private mutating func learn(_ bytes: Int64, at hostKey: HostKey) {
        if costs[hostKey] == nil, costs.count >= settings.hostsMax { costs = [:] }
        costs[hostKey] = (cost(of: hostKey) * 7 + bytes) / 8
    }
}

/// The choice of the attempts that give way.
///
/// A transfer may last for ever and occupy its connection as long. So a tenant that waits where it
/// has nothing, while another tenant has several connections, gets one of those.
extension FairShare {
    /// A tenant that waits for its first connection to a host.
    struct Newcomer: Hashable {
        let tenant: TenantID
        let hostKey: HostKey
    }

    /// The maximum number of newcomers for whom an attempt is sought at once; each search goes
    /// through all running attempts.
    private static let searchesMax = 16

    /// The number of tasks a tenant has at a host, running or about to run.
    func held(by tenant: Tenant, at hostKey: HostKey) -> Int {
        tenant.uses[hostKey, default: 0] - tenant.waiting[hostKey, default: []].count
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

    /// Returns the time after which to wake the loop because an attempt may have to give way to one
    /// of the newcomers; once for each look that is to be planned.
    mutating func takeWakeUp(at now: ContinuousClock.Instant = .now) -> Duration? {
        // One for whom nobody could give way is looked at again as late as one who has just come.
        let dues = newcomers.values.map { $0 + settings.patience }
            .map { $0 > now ? $0 : now + settings.patience }
        guard let due = dues.min() else { return nil }
        if let nextLookAt, nextLookAt > now, nextLookAt <= due { return nil }
        nextLookAt = due
        return due - now
    }

    /// The tenants without a connection to a host where their tasks wait, and without a chance to
    /// get one.
    private func shutOut(_ unconnected: Set<Fence>) -> Set<Newcomer> {
        let taken = taken
        var waits: [Newcomer: Int] = [:]
        for entry in unconnected.lazy.compactMap({ held[$0] }) where !entry.givesWay {
            waits[Newcomer(tenant: entry.tenant, hostKey: entry.flow.hostKey), default: 0] += 1
        }
        // A claimed task waits for nothing but a connection.
        var shutOut = Set(
            waits.filter { newcomer, count in
                limit(of: newcomer.hostKey) > 0
                    && tenants[newcomer.tenant].map { held(by: $0, at: newcomer.hostKey) } == count
            }.keys
        )
        for (id, tenant) in tenants {
            for (hostKey, flows) in tenant.waiting where held(by: tenant, at: hostKey) == 0 {
                guard flows.contains(where: { !heldBack.contains($0) }),
                    isShut(hostKey, for: tenant, taken: taken)
                else { continue }
                shutOut.insert(Newcomer(tenant: id, hostKey: hostKey))
            }
        }
        return shutOut
    }

    /// Whether a tenant that has nothing at a host can get nothing there.
    private func isShut(_ hostKey: HostKey, for tenant: Tenant, taken: Int) -> Bool {
        let limit = limit(of: hostKey)
        guard limit > 0 else { return false }
        return heldAtHost[hostKey, default: 0] >= limit
            || !shares.mayTake(own: tenant.held, taken: taken)
    }

    private func givers(for newcomer: Newcomer, _ unconnected: Set<Fence>) -> [Fence] {
        let isHostFull =
            heldAtHost[newcomer.hostKey, default: 0] >= limit(of: newcomer.hostKey)
        var counts: [TenantID: Int] = [:]
        var candidates: [(fence: Fence, entry: Held)] = []
        var followers: [(fence: Fence, entry: Held)] = []
        for (fence, entry) in held where !entry.givesWay {
            guard !isHostFull || entry.flow.hostKey == newcomer.hostKey else { continue }
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
            + followers.filter { $0.entry.flow.hostKey == giver.entry.flow.hostKey }
            .filter { $0.entry.tenant == giver.entry.tenant }.map(\.fence)
    }
}
