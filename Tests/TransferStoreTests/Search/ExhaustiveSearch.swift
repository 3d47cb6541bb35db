import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// A search through all actions of two workers, a client and time on one task, in every order.
///
/// The verbs are the store's on a real database. Each happens as a whole, and between any two of
/// them anything else may happen: a worker that does not act for a while is one that was stopped,
/// and continues later with its memory. One connection runs everything inside a transaction that
/// never ends, so that a savepoint leads back to each branching point.
struct ExhaustiveSearch {
    private let fixture: StoreFixture
    let pool: ConnectionPool
    let stores: Stores
    let task: TaskID
    var tenant: TenantID { fixture.tenant }
    private var identities: [Int32: WorkerIdentity] = [:]
    private var seen: Set<String> = []
    /// The steps on the path to the present moment.
    private var trail: [SearchStep] = []
    /// The number of steps taken.
    private(set) var steps = 0
    /// The number of distinct moments.
    var moments: Int { seen.count }
    private(set) var violations: [String] = []

    /// The maximum number of reported violations, enough to understand the fault.
    private static let violationsMax = 3

    init() async throws {
        fixture = try await StoreFixture()
        try await fixture.stores.workers.retireWorker(incarnation: fixture.worker.incarnation)
        task = try await fixture.submit()[0]
        pool = TestDatabase.current.pool(connectionsMax: 1)
        stores = Stores(Database(pool: pool))
    }

    /// Follows every path that `allowance` permits.
    mutating func run(_ allowance: SearchWorld.Allowance, hasDestination: Bool) async throws {
        _ = try await pool.execute("BEGIN")
        var world = SearchWorld()
        world.allowance = allowance
        world.hasDestination = hasDestination
        for name in ["one", "two"] {
            world.workers.append(try await begin(name))
        }
        try await visit(world, try await look())
        _ = try await pool.execute("ROLLBACK")
    }

    private func begin(_ name: String) async throws -> SearchWorld.Worker {
        SearchWorld.Worker(incarnation: try await stores.workers.registerWorker(name: name))
    }

    private mutating func visit(_ world: SearchWorld, _ snapshot: SearchSnapshot) async throws {
        guard try await isNew(world, snapshot) else { return }
        try await finish(world, snapshot)
        for step in Self.steps(world, snapshot) {
            try await branch {
                search in
                try await search.take(step, world, snapshot) { search, world, snapshot in
                    try await search.visit(world, snapshot)
                }
            }
        }
    }

    /// Ends both workers permanently; a third one ends the remaining work.
    private mutating func finish(_ world: SearchWorld, _ snapshot: SearchSnapshot) async throws {
        try await branch { search in
            var world = world
            for worker in world.workers.indices { world.end(worker) }
            world.allowance = SearchWorld.Allowance(takeovers: 1)
            world.hasBegun = true
            world.workers.append(try await search.begin("three"))
            try await search.goOn(world, try await search.look(), left: 20)
        }
    }

    /// Takes the next step of the healthy worker until there is none.
    private mutating func goOn(
        _ world: SearchWorld,
        _ snapshot: SearchSnapshot,
        left: Int
    ) async throws {
        guard try await isNew(world, snapshot) else { return }
        guard let step = Self.healthyStep(world, snapshot), left > 0 else {
            return checkEnd(world, snapshot)
        }
        try await take(step, world, snapshot) { search, world, snapshot in
            try await search.goOn(world, snapshot, left: left - 1)
        }
    }

    /// Follows one path and returns.
    private mutating func branch(
        _ body: (inout ExhaustiveSearch) async throws -> Void
    ) async throws {
        let name = "depth_\(trail.count)"
        _ = try await pool.execute("SAVEPOINT \(identifier: name)")
        try await body(&self)
        _ = try await pool.execute([
            "ROLLBACK TO SAVEPOINT \(identifier: name)", "RELEASE SAVEPOINT \(identifier: name)",
        ])
    }

    private mutating func take(
        _ step: SearchStep,
        _ before: SearchWorld,
        _ snapshot: SearchSnapshot,
        then: (inout ExhaustiveSearch, SearchWorld, SearchSnapshot) async throws -> Void
    ) async throws {
        steps += 1
        trail.append(step)
        defer { trail.removeLast() }
        var world = before
        try await perform(step, &world, snapshot)
        let next = try await look()
        check(step, before, snapshot, world, next)
        guard violations.isEmpty else { return }
        try await then(&self, world, next)
    }

    private func look() async throws -> SearchSnapshot {
        let rows = try await pool.execute([
            "SELECT set_config('plan_cache_mode', 'force_generic_plan', true)",
            SearchSnapshot.query,
        ])
        return try SearchSnapshot(rows[1])
    }

    /// Returns whether no equivalent moment was met before; if so, checks the rules that hold for
    /// the database at any moment.
    private mutating func isNew(
        _ world: SearchWorld,
        _ snapshot: SearchSnapshot
    ) async throws -> Bool {
        guard seen.insert(snapshot.key(with: world)).inserted else { return false }
        let rows = try await pool.execute(StoreFixture.invariants.map(\.violations))
        for (invariant, rows) in zip(StoreFixture.invariants, rows) {
            require(rows.isEmpty, invariant.rule)
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
}
