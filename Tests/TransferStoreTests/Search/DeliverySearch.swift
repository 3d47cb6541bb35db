import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// A search through all actions of two dispatchers, a client and time on the deliveries of one
/// session to two subscriptions, in every order.
///
/// As in ``ExhaustiveSearch``, the verbs are the store's on a real database, and a savepoint leads
/// back to each branching point.
struct DeliverySearch {
    private let fixture: StoreFixture
    private let subscriptions: [SubscriptionID]
    let pool: ConnectionPool
    let stores: Stores
    private var identities: [Int32: WorkerIdentity] = [:]
    private var seen: Set<String> = []
    /// The database states from which the search has tried the permanent loss of both dispatchers.
    private var finished: Set<String> = []
    private var trail: [DeliverySearchStep] = []
    /// The number of distinct moments.
    var moments: Int { seen.count }
    private(set) var violations: [String] = []

    private static let violationsMax = 3

    init() async throws {
        fixture = try await StoreFixture()
        try await fixture.stores.workers.retireWorker(incarnation: fixture.worker.incarnation)
        let made = [try await fixture.subscribe(), try await fixture.subscribe()]
        subscriptions = made.sorted { "\($0)" < "\($1)" }
        pool = TestDatabase.current.pool(connectionsMax: 1)
        stores = Stores(Database(pool: pool))
    }

    /// Follows every path that `allowance` permits.
    mutating func run(_ allowance: DeliverySearchWorld.Allowance) async throws {
        _ = try await pool.execute("BEGIN")
        var world = DeliverySearchWorld()
        world.allowance = allowance
        for name in ["one", "two"] { world.dispatchers.append(try await begin(name)) }
        try await visit(world)
        _ = try await pool.execute("ROLLBACK")
    }

    private func begin(_ name: String) async throws -> DeliverySearchWorld.Dispatcher {
        DeliverySearchWorld.Dispatcher(
            incarnation: try await stores.workers.registerWorker(name: name)
        )
    }

    private mutating func visit(_ world: DeliverySearchWorld) async throws {
        let snapshot = try await look()
        guard isNew(world, snapshot) else { return }
        if finished.insert(snapshot.key(of: world)).inserted { try await finish(world) }
        for step in Self.steps(world, snapshot) {
            guard violations.isEmpty else { return }
            try await branch { search in
                search.trail.append(step)
                var next = world
                try await search.perform(step, &next)
                try await search.visit(next)
                search.trail.removeLast()
            }
        }
    }

    /// Ends both dispatchers permanently; the client does the rest, and a third dispatcher delivers
    /// it.
    private mutating func finish(_ world: DeliverySearchWorld) async throws {
        try await branch { search in
            var world = world
            for number in world.dispatchers.indices { world.end(number) }
            while !world.writes.isEmpty { try await search.perform(.write, &world) }
            world.dispatchers.append(try await search.begin("three"))
            let number = world.dispatchers.count - 1
            world.allowance.takeovers = 1
            try await search.perform(.takeOver(number), &world)
            // Each round delivers all messages that are due.
            for _ in 0..<3 {
                try await search.perform(.claim(number, isHeard: true), &world)
                while !world.dispatchers[number].held.isEmpty {
                    let snapshot = try await search.look()
                    let held = world.dispatchers[number].held[0]
                    let step: DeliverySearchStep =
                        held.cursor < snapshot.lastSequence
                        ? .send(number, 0, isHeard: true)
                        : held.cursor > held.recorded
                            ? .record(number, 0, isHeard: true)
                            : .release(number, 0, isHeard: true)
                    try await search.perform(step, &world)
                }
            }
            let end = try await search.look()
            search.require(
                world.taken == [end.lastSequence, end.lastSequence],
                "each receiver gets everything, the end of the generation last"
            )
            for (index, subscription) in search.subscriptions.enumerated() {
                let told = end.told.filter { $0.subscription == subscription }.map(\.sequences)
                search.require(
                    zip(told, told.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound },
                    "of no event a receiver is told twice that it expired"
                )
                search.require(
                    (1...end.lastSequence).allSatisfy { sequence in
                        world.received[index].contains(sequence)
                            || told.contains { $0.contains(sequence) }
                    },
                    "a receiver gets each event, or is told that it expired"
                )
            }
            search.require(end.deliveries.allSatisfy(\.isIdle), "nothing is left to be delivered")
        }
    }

    private mutating func branch(
        _ body: (inout DeliverySearch) async throws -> Void
    ) async throws {
        let name = "delivery_\(trail.count)"
        _ = try await pool.execute("SAVEPOINT \(identifier: name)")
        try await body(&self)
        _ = try await pool.execute([
            "ROLLBACK TO SAVEPOINT \(identifier: name)", "RELEASE SAVEPOINT \(identifier: name)",
        ])
    }

    func look() async throws -> DeliverySearchSnapshot {
        let rows = try await pool.execute([
            "SELECT set_config('plan_cache_mode', 'force_generic_plan', true)",
            DeliverySearchSnapshot.query,
        ])
        return try DeliverySearchSnapshot(rows[1])
    }

    /// Returns whether no equivalent moment was met before; if so, checks the rules for any moment.
    private mutating func isNew(
        _ world: DeliverySearchWorld,
        _ snapshot: DeliverySearchSnapshot
    ) -> Bool {
        guard seen.insert(snapshot.key(with: world)).inserted else { return false }
        for (index, delivery) in snapshot.deliveries.enumerated() {
            require(
                !delivery.isIdle || delivery.acknowledged == snapshot.lastSequence,
                "a delivery with events to come is due some time"
            )
            require(!delivery.isIdle || delivery.fence == nil, "what is idle is nobody's")
            require(
                delivery.acknowledged <= world.taken[index],
                "no event is passed that the receiver has not taken"
            )
        }
        return violations.isEmpty
    }

    /// Records a violation, with the path that led there.
    mutating func require(_ condition: Bool, _ rule: String) {
        guard !condition, violations.count < Self.violationsMax else { return }
        violations.append("\(rule), after \(trail.map { "\($0)" }.joined(separator: ", "))")
    }

    /// Returns the identity of a registration, whose fences are never given out twice, whichever
    /// path is taken.
    mutating func identity(_ incarnation: Int32) -> WorkerIdentity {
        let identity = identities[incarnation] ?? WorkerIdentity(incarnation: incarnation)
        identities[incarnation] = identity
        return identity
    }

    /// Returns the index of a subscription among the two, in the order in which they are examined.
    func place(of subscription: SubscriptionID) -> Int {
        subscriptions.firstIndex(of: subscription) ?? 0
    }

    /// Performs the client's next write.
    func write(_ write: DeliverySearchWorld.Write) async throws {
        switch write {
        case .submit:
            _ = try await stores.submissions.submit(
                StoreFixture.submissions(1),
                tenant: fixture.tenant,
                sessionIdentifier: StoreFixture.identifier
            )
        case .cancel:
            let rows = try await pool.execute("SELECT id FROM task")
            for row in rows {
                _ = try await stores.control.cancelTask(
                    tenant: fixture.tenant,
                    id: TaskID(try row.decode("id"))
                )
            }
        }
    }
}
