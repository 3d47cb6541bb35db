import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@Suite(.postgresSchema) struct ClaimTests {
    private static func lane(_ key: Int64) -> Lane { Lane(key: key) }

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
        #expect(claim.lane == StoreFixture.lane)
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

    @Test func keepsToTheCapOfEachHost() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(30) { submission, index in
            submission.lane = Self.lane(Int64(index % 3))
        }
        let first = try await fixture.claim(100, perLane: 4)
        #expect(
            Dictionary(grouping: first, by: \.lane).mapValues(\.count).values.sorted() == [4, 4, 4]
        )
        let busy = [Self.lane(0): 4, Self.lane(1): 3, Self.lane(2): 9]
        let second = try await fixture.claim(100, perLane: 4, busy: busy)
        #expect(second.map(\.lane) == [Self.lane(1)])
        #expect(try await fixture.claim(2, perLane: 4).count == 2)
        try await fixture.checkInvariants()
    }

    @Test func hostsGetTheirTurn() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(20) { submission, index in
            submission.lane = Self.lane(Int64(index % 5))
        }
        let claims = try await fixture.claim(3, perLane: 3, after: Self.lane(2))
        #expect(claims.map(\.lane) == [Self.lane(3), Self.lane(3), Self.lane(3)])
        let next = try await fixture.claim(4, perLane: 3, after: Self.lane(3))
        #expect(next.map(\.lane) == [Self.lane(4), Self.lane(4), Self.lane(4)])
    }

    @Test func hostsWithoutAFreeConnectionDoNotHideTheOthers() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(100) { submission, index in
            submission.lane = Self.lane(Int64(index))
        }
        let busy = Dictionary(uniqueKeysWithValues: (0..<99).map { (Self.lane(Int64($0)), 1) })
        let claims = try await fixture.claim(10, perLane: 1, busy: busy)
        #expect(claims.map(\.lane) == [Self.lane(99)])
    }

    @Test func parallelClaimersTakeDisjointTasksAndLeaveNone() async throws {
        let fixture = try await StoreFixture(connectionsMax: 10)
        let ids = try await fixture.submit(1000) { submission, index in
            submission.lane = Self.lane(Int64(index % 7))
        }
        let taken = try await withThrowingTaskGroup(of: [TaskClaim].self) { group in
            for _ in 0..<8 {
                let worker = try await fixture.otherWorker()
                group.addTask {
                    var mine: [TaskClaim] = []
                    // An empty answer may only mean that others hold the rows just now.
                    while try await fixture.count("SELECT count(*) AS count FROM ready") > 0 {
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
