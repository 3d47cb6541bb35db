import TransferModel

/// The effects of claims and of ended tasks on the schedule.
extension Schedule {
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
                charged: cost(of: flow.lane),
                mayGiveWay: claim.isIdempotent
            )
            heldInLane[flow.lane, default: 0] += 1
            heldInFlow[flow, default: 0] += 1
            use(flow.lane, by: claim.tenant)
            tenants[claim.tenant]?.held += 1
            // The next task comes after this one.
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
        if bytes > 0 { lookahead.ended(at: entry.flow.lane, now) }
        charge(entry, max(bytes, settings.costMin) - entry.charged)
        let lane = entry.flow.lane
        learn(bytes, at: lane)
        heldInLane[lane] = heldInLane[lane].flatMap { $0 > 1 ? $0 - 1 : nil }
        heldInFlow[entry.flow] = heldInFlow[entry.flow].flatMap { $0 > 1 ? $0 - 1 : nil }
        tenants[entry.tenant]?.held -= 1
        leave(lane, by: entry.tenant)
    }

    /// Learns from how a host has handled an attempt that is still held.
    ///
    /// - Returns: the decision about the host, if there is one.
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
            // Nothing is remembered of a healthy host.
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
        let busy = paces.keys.filter { heldInLane[$0] != nil }
        let idle = paces.keys.filter { heldInLane[$0] == nil }
        for lane in (idle + busy).prefix(max(1, settings.hostsMax / 4)) { paces[lane] = nil }
    }

    private mutating func charge(_ entry: Held, _ bytes: Int64) {
        round.charge(entry.tenant, bytes)
        tenants[entry.tenant]?.lanes.charge(entry.flow.lane, bytes)
    }

    /// Updates the host's running mean of costs, so that the next task is assumed to cost what the
    /// last ones did.
    private mutating func learn(_ bytes: Int64, at lane: Lane) {
        if costs[lane] == nil, costs.count >= settings.hostsMax { costs = [:] }
        costs[lane] = (cost(of: lane) * 7 + bytes) / 8
    }
}
