import TransferModel

/// Which tasks this worker claims next, and how many of each flow; decides, and does nothing itself.
///
/// Tenants take turns by the bytes that they get, and so do the hosts of each tenant; of its sessions
/// at one host that one is served whose first task has the highest priority. No host gets more
/// connections than it may have, no session more than it may have there.
struct Schedule {
    /// What bounds a worker.
    struct Settings: Sendable {
        /// Tasks at once, over all hosts.
        var slots = EngineConfiguration.concurrencyDefault
        /// Connections to one host at most, unless an operator has set another number for it.
        var perHost = EngineConfiguration.connectionsPerHostDefault
        /// Bytes that each tenant, and each of its hosts, may spend in a round; small, so that turns
        /// are short.
        var quantum: Int64 = 64 << 10
        /// What a task is thought to cost while nothing is known of its host.
        var costDefault: Int64 = 64 << 10
        /// What one costs at least: a connection's turn.
        var costMin: Int64 = 4 << 10
        /// Flows that are remembered; others are found when these have run dry.
        var flowsMax = 4096
        /// Hosts whose costs are remembered.
        var hostsMax = 10_000
        /// This part of the slots stays free of discretionary tasks.
        var discretionaryReserve = 0.25
        /// When several tenants are there, none has more than all but this part of the slots, so that
        /// the others need not wait for its transfers to end.
        var tenantReserve = 0.125
    }

    private struct Waiting {
        var details: WaitingFlow
        /// Where its first task is, as far as is known.
        var position: FlowPosition
        /// When it was served last, counted in grants.
        var turn: UInt64 = 0
    }

    private struct Held {
        let flow: Flow
        let tenant: TenantID
        /// What an earlier attempt has brought.
        let base: Int64
        var charged: Int64
    }

    private struct Tenant {
        var lanes: DeficitRoundRobin<Lane>
        var held = 0
        /// Of its tasks that may run, over all workers.
        var tasksMax: Int?
        /// Its waiting flows and running tasks, by host.
        var uses: [Lane: Int] = [:]
    }

    private let settings: Settings
    private var waiting: [Flow: Waiting] = [:]
    private var held: [Fence: Held] = [:]
    private var heldInLane: [Lane: Int] = [:]
    private var heldInFlow: [Flow: Int] = [:]
    private var foreign: [Flow: Int] = [:]
    private var foreignInLane: [Lane: Int] = [:]
    private var round: DeficitRoundRobin<TenantID>
    private var tenants: [TenantID: Tenant] = [:]
    private var costs: [Lane: Int64] = [:]
    private var turns: UInt64 = 0
    /// Those whose tasks may be claimed here.
    private(set) var shards: Set<Shard> = []
    /// What is stored of single hosts.
    private var hosts: [Lane: HostState] = [:]
    /// Hosts that are given less than they might have.
    private var paces: [Lane: HostPace] = [:]

    init(_ settings: Settings = Settings()) {
        self.settings = settings
        round = DeficitRoundRobin(quantum: settings.quantum)
    }

    /// Claimed tasks that have not ended.
    var heldCount: Int { held.count }

    /// Slots that are free.
    var free: Int { max(0, settings.slots - held.count) }

    /// Whether so many flows wait that others are not looked for.
    var isFull: Bool { waiting.count >= settings.flowsMax }

    var waitingCount: Int { waiting.count }

    /// Connections that the worker may have to a host; none where another one counts them.
    func limit(of lane: Lane) -> Int {
        guard shards.contains(lane.shard) else { return 0 }
        return max(0, (paces[lane]?.limit ?? cap(of: lane)) - foreignInLane[lane, default: 0])
    }

    /// Connections that the host may have when it is well.
    func cap(of lane: Lane) -> Int { hosts[lane]?.maxConnections ?? settings.perHost }

    /// Whose tasks wait or run at a host.
    func tenants(at lane: Lane) -> [TenantID] {
        tenants.filter { $0.value.uses[lane] != nil }.map(\.key)
    }
}

// MARK: What there is

extension Schedule {
    /// Takes note of tasks that wait; of a flow that is known what has changed of it.
    mutating func note(_ flows: [WaitingFlow]) {
        for details in flows where shards.contains(details.flow.lane.shard) {
            if waiting[details.flow] == nil {
                guard !isFull else { continue }
                use(details.flow.lane, by: details.tenant)
                waiting[details.flow] = Waiting(details: details, position: details.position)
            } else {
                waiting[details.flow]?.details = details
                waiting[details.flow]?.position = details.position
            }
            tenants[details.tenant]?.tasksMax = details.tenantTasksMax
        }
    }

    /// Has these shards and no others; what others run in them is `foreign`, and what is stored of
    /// their hosts `hosts`.
    mutating func own(
        _ shards: Set<Shard>,
        foreign: [Flow: Int],
        hosts: [Lane: HostState] = [:]
    ) {
        paces = paces.filter { shards.contains($0.key.shard) }
        self.hosts = hosts
        // Of a host that is new here it is gone on with what another worker has found out.
        for (lane, host) in hosts where !self.shards.contains(lane.shard) {
            guard let connections = host.connections, shards.contains(lane.shard) else { continue }
            paces[lane] = HostPace(max: cap(of: lane), limit: connections)
        }
        for lane in Array(paces.keys) {
            let cap = cap(of: lane)
            paces[lane]?.setMax(cap)
        }
        self.shards = shards
        self.foreign = foreign
        foreignInLane = foreign.reduce(into: [:]) { $0[$1.key.lane, default: 0] += $1.value }
        for flow in waiting.keys where !shards.contains(flow.lane.shard) { forget(flow) }
    }

    /// Which of `shards` to give away so that `share` are left: those with the fewest running tasks.
    func surplus(of shards: Set<Shard>, beyond share: Int) -> Set<Shard> {
        guard shards.count > share else { return [] }
        let running = heldInLane.reduce(into: [Shard: Int]()) {
            $0[$1.key.shard, default: 0] += $1.value
        }
        let ordered = shards.sorted { left, right in
            (running[left, default: 0], left.number) < (running[right, default: 0], right.number)
        }
        return Set(ordered.prefix(shards.count - share))
    }

    private mutating func forget(_ flow: Flow) {
        guard let gone = waiting.removeValue(forKey: flow) else { return }
        leave(flow.lane, by: gone.details.tenant)
    }

    private mutating func use(_ lane: Lane, by id: TenantID) {
        var tenant =
            tenants[id] ?? Tenant(lanes: DeficitRoundRobin(quantum: settings.quantum))
        tenant.uses[lane, default: 0] += 1
        tenant.lanes.add(lane)
        tenants[id] = tenant
        round.add(id)
    }

    /// A tenant that has nothing left, and one of its hosts, begin anew when they come back.
    private mutating func leave(_ lane: Lane, by id: TenantID) {
        guard var tenant = tenants[id] else { return }
        let rest = tenant.uses[lane, default: 0] - 1
        tenant.uses[lane] = rest > 0 ? rest : nil
        if rest <= 0 { tenant.lanes.remove(lane) }
        tenants[id] = tenant.uses.isEmpty ? nil : tenant
        if tenant.uses.isEmpty { round.remove(id) }
    }
}

// MARK: Who is served

extension Schedule {
    /// What one distribution has given out so far.
    private struct Distribution {
        var rest: Int
        var counts: [Flow: Int] = [:]
        var inLane: [Lane: Int] = [:]
        var ofTenant: [TenantID: Int] = [:]
        /// In the order in which they were served first.
        var order: [Flow] = []
    }

    /// Gives out free slots, `limit` at most; where `isOpenHour`, discretionary tasks count like others.
    mutating func grants(_ limit: Int, isOpenHour: Bool = false) -> [FlowGrant] {
        var given = Distribution(rest: min(limit, free))
        distribute(&given) { isOpenHour || !$0.isDiscretionary }
        if !isOpenHour {
            let reserve = Int(Double(settings.slots) * settings.discretionaryReserve)
            let begun = held.count + given.counts.values.reduce(0, +)
            given.rest = min(given.rest, settings.slots - reserve - begun)
            distribute(&given) { $0.isDiscretionary }
        }
        return given.order.compactMap { flow in
            waiting[flow].map {
                FlowGrant(flow: flow, count: given.counts[flow, default: 0], from: $0.position)
            }
        }
    }

    private mutating func distribute(
        _ given: inout Distribution,
        among isIncluded: (WaitingFlow) -> Bool
    ) {
        guard given.rest > 0 else { return }
        var open: [TenantID: [Lane: [Flow]]] = [:]
        for (flow, entry) in waiting
        where isIncluded(entry.details) && room(in: flow, given) > 0 {
            open[entry.details.tenant, default: [:]][flow.lane, default: []].append(flow)
        }
        open = open.filter { room(of: $0.key, given) > 0 }
        for (id, lanes) in open { tenants[id]?.lanes.begin { lanes[$0] != nil } }
        round.begin { open[$0] != nil }
        while given.rest > 0, let id = round.next() {
            guard room(of: id, given) > 0, let lane = tenants[id]?.lanes.next() else {
                round.close(id)
                continue
            }
            open[id]?[lane]?.removeAll { room(in: $0, given) <= 0 }
            guard let flow = first(of: open[id]?[lane] ?? []) else {
                tenants[id]?.lanes.close(lane)
                continue
            }
            give(flow, to: id, &given)
        }
        for id in open.keys { tenants[id]?.lanes.end() }
        round.end()
    }

    private mutating func give(_ flow: Flow, to id: TenantID, _ given: inout Distribution) {
        let cost = cost(of: flow.lane)
        round.charge(id, cost)
        tenants[id]?.lanes.charge(flow.lane, cost)
        turns += 1
        waiting[flow]?.turn = turns
        if given.counts[flow] == nil { given.order.append(flow) }
        given.counts[flow, default: 0] += 1
        given.inLane[flow.lane, default: 0] += 1
        given.ofTenant[id, default: 0] += 1
        given.rest -= 1
    }

    /// The tenants among those of `grants` whose running tasks are to be counted.
    func boundTenants(of grants: [FlowGrant]) -> [TenantID] {
        Set(grants.compactMap { waiting[$0.flow]?.details.tenant })
            .filter { tenants[$0]?.tasksMax != nil }
    }

    /// The one whose first task has the highest priority; of equals the one that has waited longest.
    private func first(of flows: [Flow]) -> Flow? {
        flows.min { left, right in
            guard let left = waiting[left], let right = waiting[right] else { return false }
            return (left.position.priority.rank, left.turn)
                < (right.position.priority.rank, right.turn)
        }
    }

    private func room(in flow: Flow, _ given: Distribution) -> Int {
        let lane = flow.lane
        let inLane =
            limit(of: lane) - heldInLane[lane, default: 0] - given.inLane[lane, default: 0]
        guard let cap = waiting[flow]?.details.maxConnectionsPerHost else { return inLane }
        let used =
            heldInFlow[flow, default: 0] + foreign[flow, default: 0]
            + given.counts[flow, default: 0]
        return min(inLane, cap - used)
    }

    private func room(of id: TenantID, _ given: Distribution) -> Int {
        guard let tenant = tenants[id] else { return 0 }
        let reserve =
            tenants.count > 1 ? Int(Double(settings.slots) * settings.tenantReserve) : 0
        return min(settings.slots - reserve, tenant.tasksMax ?? .max) - tenant.held
            - given.ofTenant[id, default: 0]
    }

    private func cost(of lane: Lane) -> Int64 {
        max(settings.costMin, costs[lane] ?? settings.costDefault)
    }
}

// MARK: What became of it

extension Schedule {
    /// Counts the tasks that were claimed for `grants`; a flow that gave fewer has run dry.
    mutating func took(_ claims: [TaskClaim], of grants: [FlowGrant]) {
        var counts: [Flow: Int] = [:]
        for claim in claims {
            let flow = claim.flow
            counts[flow, default: 0] += 1
            held[claim.fence] = Held(
                flow: flow,
                tenant: claim.tenant,
                base: claim.partial?.bytesDurable ?? 0,
                charged: cost(of: flow.lane)
            )
            heldInLane[flow.lane, default: 0] += 1
            heldInFlow[flow, default: 0] += 1
            use(flow.lane, by: claim.tenant)
            tenants[claim.tenant]?.held += 1
            // What follows comes after this one.
            waiting[flow]?.position = FlowPosition(priority: claim.priority, task: claim.task)
        }
        for grant in grants {
            let missing = grant.count - counts[grant.flow, default: 0]
            guard missing > 0, let entry = waiting[grant.flow] else { continue }
            let refund = -Int64(missing) * cost(of: grant.flow.lane)
            round.charge(entry.details.tenant, refund)
            tenants[entry.details.tenant]?.lanes.charge(grant.flow.lane, refund)
            forget(grant.flow)
        }
    }

    /// A running task is at so many bytes.
    mutating func moved(_ fence: Fence, bytes: Int64) {
        guard let entry = held[fence], bytes - entry.base > entry.charged else { return }
        charge(entry, bytes - entry.base - entry.charged)
        held[fence]?.charged = bytes - entry.base
    }

    /// A task has ended at so many bytes, whatever became of it; its second end counts nothing.
    mutating func ended(_ fence: Fence, bytes: Int64) {
        guard let entry = held.removeValue(forKey: fence) else { return }
        let bytes = max(0, bytes - entry.base)
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
        if paces[lane] == nil {
            // Of a host that is well nothing is remembered.
            guard signal.isTrouble else { return nil }
            if paces.count >= settings.hostsMax { paces = [:] }
            paces[lane] = HostPace(max: cap(of: lane))
        }
        let decision = paces[lane]?.note(
            signal,
            bytes: max(0, bytes - entry.base),
            running: heldInLane[lane, default: 0] + foreignInLane[lane, default: 0],
            at: now
        )
        if paces[lane]?.isUntroubled ?? false { paces[lane] = nil }
        return decision
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
