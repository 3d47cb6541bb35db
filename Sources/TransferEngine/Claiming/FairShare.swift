import TransferModel

/// The choice of the tasks that this worker claims next, and of how many of each flow; it only
/// decides and carries nothing out.
///
/// Tenants take turns by the bytes that they receive, and so do the hosts of each tenant. Among a
/// tenant's sessions at one host, the session whose first task has the highest priority is served.
/// No host gets more connections than it may have, no session more than it may have at that host,
/// and no tenant so many slots that none is left for another.
struct FairShare {
    /// The limits of a worker.
    struct Settings: Sendable {
        /// The maximum number of tasks at once, over all hosts.
        var slots = EngineConfiguration.concurrencyDefault
        /// The maximum number of connections to one host, unless an operator has set another number
        /// for it.
        var perHost = EngineConfiguration.connectionsPerHostDefault
        /// The bytes that each tenant, and each of its hosts, may spend in a round; small, to keep
        /// turns short.
        var quantum: Int64 = 64 << 10
        /// The assumed cost of a task while nothing is known of its host.
        var costDefault: Int64 = 64 << 10
        /// The minimum cost of a task: a connection's turn.
        var costMin: Int64 = 4 << 10
        /// The maximum number of flows remembered; others are found when these have run dry.
        var flowsMax = 4096
        /// The maximum number of hosts whose costs are remembered.
        var hostsMax = 10_000
        /// The maximum number of tasks claimed before there is a slot for them.
        var aheadMax = 256
        /// The share of the slots that stays free of discretionary tasks.
        var discretionaryReserve = 0.25
        /// The time a tenant waits for its first connection to a host before one of another
        /// tenant's attempts there gives way.
        var patience: Duration = .milliseconds(500)
    }

    struct Waiting {
        var details: WaitingFlow
        /// The position of its first task, as far as it is known.
        var position: FlowPosition
        /// The turn in which it was last served, counted in grants.
        var turn: UInt64 = 0
        /// The time since which claims that had to count its tenant's tasks have brought nothing of
        /// it.
        var heldBackSince: ContinuousClock.Instant?
    }

    struct Held {
        let flow: Flow
        let tenant: TenantID
        /// The bytes that an earlier attempt received.
        let base: Int64
        var charged: Int64
        /// Whether it can be given back without harm because the request may be sent again.
        let mayGiveWay: Bool
        /// Whether it was told to give way.
        var givesWay = false
    }

    struct Tenant {
        var hostKeys: DeficitRoundRobin<HostKey>
        var held = 0
        /// The maximum number of its tasks that may run, over all workers.
        var tasksMax: Int?
        /// Whether claims have to count its running tasks, over all workers.
        var isBound = false
        /// Its waiting flows and running tasks, by host.
        var uses: [HostKey: Int] = [:]
        /// Its waiting flows, by host.
        var waiting: [HostKey: Set<Flow>] = [:]
        var waitingCount = 0
    }

    let settings: Settings
    let shares: SlotShares
    /// The tenants waiting for a first connection to a host, each with the time since which it has
    /// waited.
    var newcomers: [Newcomer: ContinuousClock.Instant] = [:]
    /// The time for which ``takeWakeUp(at:)`` has had a look planned.
    var nextLookAt: ContinuousClock.Instant?
    var waiting: [Flow: Waiting] = [:]
    /// The flows that gave a claim too few tasks and whose tenants have a task limit; their
    /// tenants' counts are known again once ended tasks are stored.
    var heldBack: Set<Flow> = []
    /// Whether the end of any task was stored since the last grants.
    var isStoredSinceGrants = false
    var held: [Fence: Held] = [:]
    var heldAtHost: [HostKey: Int] = [:]
    var heldInFlow: [Flow: Int] = [:]
    private(set) var foreign: [Flow: Int] = [:]
    private(set) var foreignAtHost: [HostKey: Int] = [:]
    var round: DeficitRoundRobin<TenantID>
    var tenants: [TenantID: Tenant] = [:]
    var costs: [HostKey: Int64] = [:]
    var turns: UInt64 = 0
    var prefetch: PrefetchWindow
    /// The shards whose tasks may be claimed here.
    private(set) var shards: Set<Shard> = []
    /// The stored states of individual hosts.
    private var hosts: [HostKey: HostState] = [:]
    /// The paces of hosts that get fewer connections than they might have.
    var paces: [HostKey: HostPace] = [:]

    init(_ settings: Settings = Settings()) {
        self.settings = settings
        shares = SlotShares(slots: settings.slots)
        round = DeficitRoundRobin(quantum: settings.quantum)
        prefetch = PrefetchWindow(hostsMax: settings.hostsMax)
    }

    /// Whether the table of waiting flows is full, so that another flow takes the place of one of
    /// them or is left out.
    var isFull: Bool { waiting.count >= settings.flowsMax }

    /// The number of flows that wait; for tests.
    var waitingCount: Int { waiting.count }

    /// Whether several tenants have tasks here.
    var isShared: Bool { tenants.count > 1 }

    /// The connections that this worker may have to a host; 0 when another worker counts them.
    func limit(of hostKey: HostKey) -> Int {
        guard shards.contains(hostKey.shard) else { return 0 }
        return max(0, given(to: hostKey) - foreignAtHost[hostKey, default: 0])
    }

    /// The connections that all workers together may have to a host.
    func given(to hostKey: HostKey) -> Int { paces[hostKey]?.limit ?? cap(of: hostKey) }

    /// The connections a host is given, when that may be fewer than its maximum.
    func pace(of hostKey: HostKey) -> Int? { paces[hostKey]?.limit }

    /// The connections that the host may have when it is healthy.
    func cap(of hostKey: HostKey) -> Int { hosts[hostKey]?.maxConnections ?? settings.perHost }

    /// The tenants whose tasks wait or run at a host.
    func tenants(at hostKey: HostKey) -> [TenantID] {
        tenants.filter { $0.value.uses[hostKey] != nil }.map(\.key)
    }
}

extension FairShare {
    /// Records waiting tasks; for a flow already known, records what has changed.
    ///
    /// - Returns: whether all flows that wait here are now known and none had to make room for
    ///   another.
    @discardableResult
    mutating func note(_ flows: [WaitingFlow]) -> Bool {
        var isComplete = true
        for details in flows where shards.contains(details.flow.hostKey.shard) {
            let flow = details.flow
            if waiting[flow] == nil {
                if isFull {
                    isComplete = false
                    guard makePlace(for: details.tenant) else { continue }
                }
                use(flow.hostKey, by: details.tenant)
                tenants[details.tenant]?.waiting[flow.hostKey, default: []].insert(flow)
                tenants[details.tenant]?.waitingCount += 1
                waiting[flow] = Waiting(details: details, position: details.position)
            } else {
                waiting[flow]?.details = details
                waiting[flow]?.position = details.position
                waiting[flow]?.heldBackSince = nil
                heldBack.remove(flow)
            }
            tenants[details.tenant]?.tasksMax = details.tenantTasksMax
            tenants[details.tenant]?.isBound =
                details.tenantTasksMax != nil || details.hasTenantByteLimit
        }
        return isComplete
    }

    /// Forgets a flow of the tenant with the most waiting flows, if it would still have more than
    /// this tenant; later looks find the flow again.
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

    /// Takes these shards and no others; `foreign` holds what other workers run in them, and
    /// `hosts` what is stored of their hosts.
    mutating func own(
        _ shards: Set<Shard>,
        foreign: [Flow: Int],
        hosts: [HostKey: HostState] = [:]
    ) {
        paces = paces.filter { shards.contains($0.key.shard) }
        self.hosts = hosts
        // A host new to this worker starts from the limit that another worker found for it.
        for (hostKey, host) in hosts where !self.shards.contains(hostKey.shard) {
            guard let connections = host.connections, shards.contains(hostKey.shard),
                paces.count < settings.hostsMax
            else { continue }
            paces[hostKey] = HostPace(max: cap(of: hostKey), limit: connections)
        }
        for hostKey in Array(paces.keys) {
            let cap = cap(of: hostKey)
            paces[hostKey]?.setMax(cap)
        }
        self.shards = shards
        self.foreign = foreign
        foreignAtHost = foreign.reduce(into: [:]) { $0[$1.key.hostKey, default: 0] += $1.value }
        for flow in waiting.keys where !shards.contains(flow.hostKey.shard) { forget(flow) }
    }

    /// Returns those of `shards` to give away so that `share` are left: the ones with the fewest
    /// running tasks.
    func surplus(of shards: Set<Shard>, beyond share: Int) -> Set<Shard> {
        guard shards.count > share else { return [] }
        let running = heldAtHost.reduce(into: [Shard: Int]()) {
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
        tenants[id]?.waiting[flow.hostKey]?.remove(flow)
        if tenants[id]?.waiting[flow.hostKey]?.isEmpty ?? false {
            tenants[id]?.waiting[flow.hostKey] = nil
        }
        leave(flow.hostKey, by: id)
    }

    mutating func use(_ hostKey: HostKey, by id: TenantID) {
        // Changed in place, so that a tenant with many hosts is not copied for each of its tasks.
        if tenants[id] == nil {
            tenants[id] = Tenant(hostKeys: DeficitRoundRobin(quantum: settings.quantum))
            round.add(id)
        }
        tenants[id]?.uses[hostKey, default: 0] += 1
        tenants[id]?.hostKeys.add(hostKey)
    }

    /// Ends one use of a host by a tenant; a tenant with nothing left, and a host it no longer
    /// uses, start afresh when they come back.
    mutating func leave(_ hostKey: HostKey, by id: TenantID) {
        guard let uses = tenants[id]?.uses[hostKey] else { return }
        guard uses == 1 else {
            tenants[id]?.uses[hostKey] = uses - 1
            return
        }
        tenants[id]?.uses[hostKey] = nil
        tenants[id]?.hostKeys.remove(hostKey)
        guard tenants[id]?.uses.isEmpty ?? false else { return }
        tenants[id] = nil
        round.remove(id)
    }
}
