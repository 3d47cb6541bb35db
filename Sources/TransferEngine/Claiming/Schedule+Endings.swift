import TransferModel

/// What became of it.
extension Schedule {
    /// For how long a flow is believed to be held back by its tenant's bound, and not to have run
    /// dry; looks find it again by then.
    private static let heldBackMax: Duration = .seconds(1)

    /// Counts the tasks that were claimed for `grants`; a flow that gave fewer has run dry, unless
    /// its tenant's tasks were counted.
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
                charged: cost(of: flow.lane),
                mayGiveWay: claim.isIdempotent
            )
            heldInLane[flow.lane, default: 0] += 1
            heldInFlow[flow, default: 0] += 1
            use(flow.lane, by: claim.tenant)
            tenants[claim.tenant]?.held += 1
            // What follows comes after this one.
            waiting[flow]?.position = FlowPosition(priority: claim.priority, task: claim.task)
            waiting[flow]?.heldBackSince = nil
        }
        for grant in grants {
            let missing = grant.count - counts[grant.flow, default: 0]
            guard missing > 0, let entry = waiting[grant.flow] else { continue }
            let refund = -Int64(missing) * cost(of: grant.flow.lane)
            round.charge(entry.details.tenant, refund)
            tenants[entry.details.tenant]?.lanes.charge(grant.flow.lane, refund)
            if tenants[entry.details.tenant]?.tasksMax == nil {
                forget(grant.flow)
            } else {
                holdBack(grant.flow, at: now)
            }
        }
    }

    /// An ended task counts for its tenant until that is stored, so that one that has just ended
    /// may be why a claim brought too few.
    private mutating func holdBack(_ flow: Flow, at now: ContinuousClock.Instant) {
        let since = waiting[flow]?.heldBackSince ?? now
        guard now - since < Self.heldBackMax else { return forget(flow) }
        waiting[flow]?.heldBackSince = since
        // What was stored during the claim may have been stored after it had counted.
        if !isStoredSinceGrants { heldBack.insert(flow) }
    }

    /// Ends of tasks were stored, and so no longer count.
    ///
    /// - Returns: whether a flow was held back for them.
    mutating func stored() -> Bool {
        isStoredSinceGrants = true
        defer { heldBack = [] }
        return !heldBack.isEmpty
    }

    /// A running task is at so many bytes.
    mutating func moved(_ fence: Fence, bytes: Int64) {
        guard let entry = held[fence], bytes - entry.base > entry.charged else { return }
        charge(entry, bytes - entry.base - entry.charged)
        held[fence]?.charged = bytes - entry.base
    }

    /// A task has ended at so many bytes, whatever became of it; its second end counts nothing.
    mutating func ended(
        _ fence: Fence,
        bytes: Int64,
        at now: ContinuousClock.Instant = .now
    ) {
        guard let entry = held.removeValue(forKey: fence) else { return }
        let bytes = max(0, bytes - entry.base)
        if bytes > 0 { lookahead.ended(at: entry.flow.lane, now) }
        charge(entry, max(bytes, settings.costMin) - entry.charged)
        let lane = entry.flow.lane
        learn(bytes, at: lane)
        heldInLane[lane] = heldInLane[lane].flatMap { $0 > 1 ? $0 - 1 : nil }
        heldInFlow[entry.flow] = heldInFlow[entry.flow].flatMap { $0 > 1 ? $0 - 1 : nil }
        tenants[entry.tenant]?.held -= 1
        leave(lane, by: entry.tenant)
    }

    /// Takes to heart how a host has taken an attempt that is still held.
    ///
    /// - Returns: what follows for the host, if anything does.
    mutating func learn(
        _ signal: HostPace.Signal,
        from fence: Fence,
        bytes: Int64,
        at now: ContinuousClock.Instant
    ) -> HostPace.Decision? {
        guard let entry = held[fence], shards.contains(entry.flow.lane.shard) else { return nil }
        let lane = entry.flow.lane
        let isNew = paces[lane] == nil
        if isNew {
            // Of a host that is well nothing is remembered.
            guard signal.isTrouble else { return nil }
            if paces.count >= settings.hostsMax { forgetPaces() }
            paces[lane] = HostPace(max: cap(of: lane))
        }
        let running = heldInLane[lane, default: 0] + foreignInLane[lane, default: 0]
        let decision = paces[lane]?.note(
            signal,
            bytes: max(0, bytes - entry.base),
            running: running,
            at: now
        )
        guard let pace = paces[lane], pace.isUntroubled else { return decision }
        paces[lane] = nil
        // Without a decision of its own it is the operator who has taken down what it may have.
        guard decision == nil, !isNew else { return decision }
        return HostPace.Decision(
            before: pace.limit,
            after: pace.limit,
            reason: "No longer less than the \(pace.limit) that it may have."
        )
    }

    /// Forgets a quarter, so that the search costs each new host little: first those without tasks,
    /// which will have recovered.
    private mutating func forgetPaces() {
        let busy = paces.keys.filter { heldInLane[$0] != nil }
        let idle = paces.keys.filter { heldInLane[$0] == nil }
        for lane in (idle + busy).prefix(max(1, settings.hostsMax / 4)) { paces[lane] = nil }
    }

    private mutating func charge(_ entry: Held, _ bytes: Int64) {
        round.charge(entry.tenant, bytes)
        tenants[entry.tenant]?.lanes.charge(entry.flow.lane, bytes)
    }

    /// A running mean, so that what is given out next is thought to cost what came last.
    private mutating func learn(_ bytes: Int64, at lane: Lane) {
        if costs[lane] == nil, costs.count >= settings.hostsMax { costs = [:] }
        costs[lane] = (cost(of: lane) * 7 + bytes) / 8
    }
}
