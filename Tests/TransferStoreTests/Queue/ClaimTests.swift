import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@Suite(.postgresSchema) struct ClaimTests {
    private static func hostKey(_ key: Int64) -> HostKey { HostKey(rawValue: key) }

    @Test func takesHigherPriorityFirstAndThenTheOlder() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(4) { submission, index in
            submission.priority = TaskPriority(rank: [500, 0, 500, 1000][index])
        }
        let order = [ids[1], ids[0], ids[2], ids[3]]
        for expected in order {
            #expect(try await fixture.claim(1).map(\.task) == [expected])
        }
        #expect(try await fixture.claim().isEmpty)
        try await fixture.checkInvariants()
    }

    @Test func tellsTheWorkerAllItNeeds() async throws {
        let fixture = try await StoreFixture()
        try await fixture.putSession(
            StoreFixture.identifier,
            SessionConfiguration(
                timeoutForRequest: .seconds(7),
                timeoutForResource: .seconds(70),
                additionalHeaders: [
                    HTTPHeader(name: "X-Session", value: "s"),
                    HTTPHeader(name: "Accept", value: "a"),
                ]
            )
        )
        let id = try await fixture.submit { submission, _ in
            submission.headers = [HTTPHeader(name: "ACCEPT", value: "b")]
            submission.destination = Destination(path: "x/y", overwrite: false)
        }[0]
        let claim = try #require(try await fixture.claim().first)
        #expect(claim.task == id)
        #expect(claim.number == 1)
        #expect(claim.tenant == fixture.tenant)
        #expect(claim.hostKey == StoreFixture.hostKey)
        #expect(claim.timeoutForRequest == .seconds(7))
        #expect(claim.timeoutForResource == .seconds(70))
        #expect(claim.destination == Destination(path: "x/y", overwrite: false))
        // The task's own header wins, whatever its case.
        #expect(
            claim.headers == [
                HTTPHeader(name: "X-Session", value: "s"), HTTPHeader(name: "ACCEPT", value: "b"),
            ]
        )
        #expect(try await fixture.state(id) == .running)
        #expect(try await fixture.task(id).attempt == 1)
    }

    @Test func takesAsManyOfEachFlowAsGranted() async throws {
        let fixture = try await StoreFixture()
        try await fixture.putSession("second")
        for session in [StoreFixture.identifier, "second"] {
            try await fixture.submit(10, to: session) { submission, index in
                submission.hostKey = Self.hostKey(Int64(index % 2))
            }
        }
        let flows = try await fixture.stores.queue.waitingFlows(in: Set(Shard.all).hostKeys)
        #expect(flows.map(\.flow.hostKey) == [0, 0, 1, 1].map(Self.hostKey))
        #expect(Set(flows.map(\.flow)).count == 4)
        #expect(flows.allSatisfy { $0.tenant == fixture.tenant })
        let grants = zip(flows, [3, 0, 3, 9]).map {
            FlowGrant(flow: $0.flow, count: $1, from: $0.position)
        }
        let claims = try await fixture.stores.queue.claim(
            grants,
            fences: fixture.worker.reserve(15)
        )
        // The last flow had only five.
        let counts = grants.map { grant in claims.filter { $0.flow == grant.flow }.count }
        #expect(counts == [3, 0, 3, 5])
        try await fixture.checkInvariants()
        // Each is found by its fence, although identifiers of two hosts took turns.
        #expect(try await fixture.complete(claims) == Set(claims.map(\.task)))
    }

    /// The server may have crashed since, or another may be in its place.
    @Test func onlyClaimsThatTheDatabaseHasAreDurable() async throws {
        let fixture = try await StoreFixture()
        let queue = fixture.stores.queue
        try await fixture.submit(8)
        let claims = try await fixture.claim(7)
        try #require(claims.count == 7)
        let later = try await fixture.claim()
        #expect(try await queue.makeClaimsDurable(claims) == Set(claims.map(\.fence)))
        // Some have rows of their own.
        try await fixture.separate(Array(claims[..<3]))
        let lost = [claims[1], claims[4]]
        let ends = lost.map { AttemptEnd(task: $0.task, fence: $0.fence, outcome: .released) }
        #expect(try await fixture.stores.completions.end(ends).count == 2)
        let kept = Set(claims.map(\.fence)).subtracting(lost.map(\.fence))
        #expect(try await queue.makeClaimsDurable(claims) == kept)
        // The row in which they are begins before these.
        #expect(try await queue.makeClaimsDurable([claims[6]]) == [claims[6].fence])
        #expect(try await queue.makeClaimsDurable(lost).isEmpty)
        #expect(try await queue.makeClaimsDurable([]).isEmpty)
        #expect(try await queue.makeClaimsDurable(later) == Set(later.map(\.fence)))
    }

    @Test func nothingIsTakenBeforeThePlaceWhereAFlowBegins() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(4) { submission, index in
            submission.priority = TaskPriority(rank: [100, 500, 600, 900][index])
        }
        let flow = try #require(
            try await fixture.stores.queue.waitingFlows(in: Set(Shard.all).hostKeys).first
        )
        #expect(flow.position == FlowPosition(priority: TaskPriority(rank: 100), task: ids[0]))
        let from = FlowPosition(priority: TaskPriority(rank: 600), task: ids[2])
        let claims = try await fixture.stores.queue.claim(
            [FlowGrant(flow: flow.flow, count: 9, from: from)],
            fences: fixture.worker.reserve(9)
        )
        #expect(claims.map(\.task) == [ids[2], ids[3]])
        #expect(try await fixture.claim().map(\.task) == [ids[0], ids[1]])
    }

    @Test func flowsAreFoundByHostsAndBehindOthers() async throws {
        let fixture = try await StoreFixture()
        let hostKeys: [Int64] = [.min, -5, 0, 7, .max]
        try await fixture.submit(10) { submission, index in
            submission.hostKey = Self.hostKey(hostKeys[index % 5])
        }
        func found(
            _ ranges: [ClosedRange<Int64>],
            after: Flow? = nil,
            limit: Int = 9
        ) async throws -> [Int64] {
            try await fixture.stores.queue.waitingFlows(in: ranges, after: after, limit: limit)
                .map(\.flow.hostKey.rawValue)
        }
        #expect(try await found([.min ... .max]) == hostKeys)
        #expect(try await found([.min ... .max], limit: 2) == [.min, -5])
        #expect(try await found([-5...0, 6...8]) == [-5, 0, 7])
        #expect(try await found([]) == [])
        let all = try await fixture.stores.queue.waitingFlows(in: [.min ... .max])
        #expect(try await found([.min ... .max], after: all[1].flow) == [0, 7, .max])
        #expect(try await found([-5 ... -5, 0...8], after: all[1].flow) == [0, 7])
        #expect(try await found([6...8], after: all[2].flow) == [7])
    }

    @Test func aFlowTellsWhatBoundsIt() async throws {
        let fixture = try await StoreFixture()
        var configuration = SessionConfiguration()
        configuration.maxConnectionsPerHost = 3
        configuration.isDiscretionary = true
        try await fixture.putSession(StoreFixture.identifier, configuration)
        _ = try await fixture.stores.tenants.limitTenant(
            named: "test",
            changes: TenantLimitChanges(runningTasksMax: 5)
        )
        try await fixture.submit(2) { submission, index in
            submission.priority = TaskPriority(rank: [500, 100][index])
        }
        let flow = try #require(
            try await fixture.stores.queue.waitingFlows(in: Set(Shard.all).hostKeys).first
        )
        #expect(flow.maxConnectionsPerHost == 3)
        #expect(flow.isDiscretionary)
        #expect(flow.tenantTasksMax == 5)
        #expect(flow.position.priority.rank == 100)
        #expect(try await fixture.claim(1)[0].maxConnectionsPerHost == 3)
    }

    /// Whichever workers claim, and however many at the same time: no more tasks run than allowed.
    @Test func aTenantsBoundHoldsForAllWorkersTogether() async throws {
        let fixture = try await StoreFixture(connectionsMax: 10)
        let ids = try await fixture.submit(200) { submission, index in
            submission.hostKey = Self.hostKey(Int64(index % 8))
        }
        _ = try await fixture.stores.tenants.limitTenant(
            named: "test",
            changes: TenantLimitChanges(runningTasksMax: 7)
        )
        let flows = try await fixture.stores.queue.waitingFlows(in: Set(Shard.all).hostKeys)
        let done = try await withThrowingTaskGroup(of: [TaskID].self) { group in
            for flow in flows {
                let worker = try await fixture.otherWorker()
                group.addTask {
                    var done: [TaskID] = []
                    while done.count < 25 {
                        let claims = try await fixture.stores.queue.claim(
                            [FlowGrant(flow: flow.flow, count: 4, from: flow.position)],
                            boundTenants: [fixture.tenant],
                            fences: worker.reserve(4)
                        )
                        let running = try await fixture.count(
                            "SELECT count(*) AS count FROM running_attempt"
                        )
                        #expect(running <= 7)
                        done += try await fixture.complete(claims)
                    }
                    return done
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(Set(done) == Set(ids))
        try await fixture.checkInvariants()
    }

    @Test func parallelClaimersTakeDisjointTasksAndLeaveNone() async throws {
        let fixture = try await StoreFixture(connectionsMax: 10)
        let ids = try await fixture.submit(1000) { submission, index in
            submission.hostKey = Self.hostKey(Int64(index % 7))
        }
        let taken = try await withThrowingTaskGroup(of: [TaskClaim].self) { group in
            for _ in 0..<8 {
                let worker = try await fixture.otherWorker()
                group.addTask {
                    var mine: [TaskClaim] = []
                    // An empty answer may only mean that others hold the rows at the moment.
                    while try await fixture.count("SELECT count(*) AS count FROM ready_run") > 0 {
                        mine += try await fixture.claim(17, by: worker)
                    }
                    return mine
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(taken.count == 1000)
        #expect(Set(taken.map(\.task)) == Set(ids))
        #expect(Set(taken.map(\.fence)).count == 1000)
        try await fixture.checkInvariants()
    }

    @Test func aWorkerThatIsNotRegisteredGetsNothing() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        let stranger = WorkerIdentity(incarnation: 1_000_000)
        #expect(try await fixture.claim(by: stranger).isEmpty)
        #expect(try await fixture.state(id) == .queued)
        try await fixture.checkInvariants()
    }

    @Test func tasksThatMayNotRunAreNotTaken() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(2) { submission, index in
            if index == 0 {
                submission.autostart = false
            } else {
                submission.earliestBeginAt = Date(timeIntervalSinceNow: 3600)
            }
        }
        #expect(try await fixture.states(ids) == [.suspended, .scheduled])
        #expect(try await fixture.claim().isEmpty)
    }
}
