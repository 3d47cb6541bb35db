import TransferModel

/// Which tasks this worker claims next, and how many of each flow; decides, and does nothing
/// itself.
///
/// Tenants take turns by the bytes that they get, and so do the hosts of each tenant; of its
/// sessions at one host that one is served whose first task has the highest priority. No host gets
/// more connections than it may have, no session more than it may have there, and no tenant so many
/// slots that none is left for another.
struct Schedule {
    /// What bounds a worker.
    struct Settings: Sendable {
        /// Tasks at once, over all hosts.
        var slots = EngineConfiguration.concurrencyDefault
        /// Connections to one host at most, unless an operator has set another number for it.
        var perHost = EngineConfiguration.connectionsPerHostDefault
        /// Bytes that each tenant, and each of its hosts, may spend in a round; small, so that
        /// turns are short.
        var quantum: Int64 = 64 << 10
        /// What a task is thought to cost while nothing is known of its host.
        var costDefault: Int64 = 64 << 10
        /// What one costs at least: a connection's turn.
        var costMin: Int64 = 4 << 10
        /// Flows that are remembered; others are found when these have run dry.
        var flowsMax = 4096
        /// Hosts whose costs are remembered.
        var hostsMax = 10_000
        /// Tasks claimed before there is a slot for them, at most.
        var aheadMax = 256
        /// This part of the slots stays free of discretionary tasks.
        var discretionaryReserve = 0.25
        /// How long a tenant waits for its first connection to a host before one of another tenant's
        /// attempts there gives way.
        var patience: Duration = .milliseconds(500)
    }

    struct Waiting {
        var details: WaitingFlow
        /// Where its first task is, as far as is known.
        var position: FlowPosition
        /// When it was served last, counted in grants.
        var turn: UInt64 = 0
        /// Since when claims have brought nothing of it that were to count its tenant's tasks.
        var heldBackSince: ContinuousClock.Instant?
    }

    struct Held {
        let flow: Flow
        let tenant: TenantID
        /// What an earlier attempt has brought.
        let base: Int64
        var charged: Int64
        /// Whether it can be given back without harm: the request may be sent once more.
        let mayGiveWay: Bool
        /// Whether it was told to.
        var givesWay = false
    }

    struct Tenant {
        var lanes: DeficitRoundRobin<Lane>
        var held = 0
        /// Of its tasks that may run, over all workers.
        var tasksMax: Int?
        /// Its waiting flows and running tasks, by host.
        var uses: [Lane: Int] = [:]
        /// Its waiting flows, by host.
        var waiting: [Lane: Set<Flow>] = [:]
        var waitingCount = 0
    }

    let settings: Settings
    let shares: SlotShares
    /// Who has waited for a first connection to a host, and since when.
    var newcomers: [Newcomer: ContinuousClock.Instant] = [:]
    var waiting: [Flow: Waiting] = [:]
    /// Those of tenants with a bound that a claim has brought too few of: whose tasks count is
    /// known anew once what has ended is stored.
    var heldBack: Set<Flow> = []
    /// Whether anything was stored since the last grants.
    var isStoredSinceGrants = false
    var held: [Fence: Held] = [:]
    var heldInLane: [Lane: Int] = [:]
    var heldInFlow: [Flow: Int] = [:]
    private(set) var foreign: [Flow: Int] = [:]
    private(set) var foreignInLane: [Lane: Int] = [:]
    var round: DeficitRoundRobin<TenantID>
    var tenants: [TenantID: Tenant] = [:]
    var costs: [Lane: Int64] = [:]
    var turns: UInt64 = 0
    var lookahead: Lookahead
    /// Those whose tasks may be claimed here.
    private(set) var shards: Set<Shard> = []
    /// What is stored of single hosts.
    private var hosts: [Lane: HostState] = [:]
    /// Hosts that are given less than they might have.
    var paces: [Lane: HostPace] = [:]

    init(_ settings: Settings = Settings()) {
        self.settings = settings
        shares = SlotShares(slots: settings.slots)
        round = DeficitRoundRobin(quantum: settings.quantum)
        lookahead = Lookahead(hostsMax: settings.hostsMax)
    }

    /// Whether so many flows wait that another one takes the place of one of them, or none.
    var isFull: Bool { waiting.count >= settings.flowsMax }

    var waitingCount: Int { waiting.count }

    /// Whether several tenants have tasks here.
    var isShared: Bool { tenants.count > 1 }

    /// Connections that the worker may have to a host; none where another one counts them.
    func limit(of lane: Lane) -> Int {
        guard shards.contains(lane.shard) else { return 0 }
        return max(0, given(to: lane) - foreignInLane[lane, default: 0])
    }

    /// Connections that all workers together may have to a host.
    func given(to lane: Lane) -> Int { paces[lane]?.limit ?? cap(of: lane) }

    /// What a host is given, where that may be less than all.
    func pace(of lane: Lane) -> Int? { paces[lane]?.limit }

    /// Connections that the host may have when it is well.
    func cap(of lane: Lane) -> Int { hosts[lane]?.maxConnections ?? settings.perHost }

    /// Whose tasks wait or run at a host.
    func tenants(at lane: Lane) -> [TenantID] {
        tenants.filter { $0.value.uses[lane] != nil }.map(\.key)
    }
}

extension Schedule {
    /// Takes note of tasks that wait; of a flow that is known what has changed of it.
    ///
    /// - Returns: whether all that wait here are known now, and none had to give place.
    @discardableResult
    mutating func note(_ flows: [WaitingFlow]) -> Bool {
        var isComplete = true
        for details in flows where shards.contains(details.flow.lane.shard) {
            let flow = details.flow
            if waiting[flow] == nil {
                if isFull {
                    isComplete = false
                    guard makePlace(for: details.tenant) else { continue }
                }
                use(flow.lane, by: details.tenant)
                tenants[details.tenant]?.waiting[flow.lane, default: []].insert(flow)
                tenants[details.tenant]?.waitingCount += 1
                waiting[flow] = Waiting(details: details, position: details.position)
            } else {
                waiting[flow]?.details = details
                waiting[flow]?.position = details.position
                waiting[flow]?.heldBackSince = nil
                heldBack.remove(flow)
            }
            tenants[details.tenant]?.tasksMax = details.tenantTasksMax
        }
        return isComplete
    }

    /// Forgets a flow of the tenant that has most, if that one has more all the same; looks find it
    /// again.
    private mutating func makePlace(for id: TenantID) -> Bool {
        guard let flow = flowOfMost(beyond: (tenants[id]?.waitingCount ?? 0) + 1) else {
            return false
        }
        forget(flow)
        return true
    }

    private func flowOfMost(beyond count: Int) -> Flow? {
        let most = tenants.values.max { $0.waitingCount < $1.waitingCount }
        guard let most, most.waitingCount > count else { return nil }
        return most.waiting.first?.value.first
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

    /// Which of `shards` to give away so that `share` are left: those with the fewest running
    /// tasks.
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

    mutating func forget(_ flow: Flow) {
        guard let gone = waiting.removeValue(forKey: flow) else { return }
        heldBack.remove(flow)
        let id = gone.details.tenant
        tenants[id]?.waitingCount -= 1
        tenants[id]?.waiting[flow.lane]?.remove(flow)
        if tenants[id]?.waiting[flow.lane]?.isEmpty ?? false {
            tenants[id]?.waiting[flow.lane] = nil
        }
        leave(flow.lane, by: id)
    }

    mutating func use(_ lane: Lane, by id: TenantID) {
        // In its place: a tenant with many hosts is not copied for each of its tasks.
        if tenants[id] == nil {
            tenants[id] = Tenant(lanes: DeficitRoundRobin(quantum: settings.quantum))
            round.add(id)
        }
        tenants[id]?.uses[lane, default: 0] += 1
        tenants[id]?.lanes.add(lane)
    }

    /// A tenant that has nothing left, and one of its hosts, begin anew when they come back.
    mutating func leave(_ lane: Lane, by id: TenantID) {
        guard let uses = tenants[id]?.uses[lane] else { return }
        guard uses == 1 else {
            tenants[id]?.uses[lane] = uses - 1
            return
        }
        tenants[id]?.uses[lane] = nil
        tenants[id]?.lanes.remove(lane)
        guard tenants[id]?.uses.isEmpty ?? false else { return }
        tenants[id] = nil
        round.remove(id)
    }
}
