import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// The places of downloads with mirrors.
@Suite(.postgresSchema) struct MirrorStoreTests {
    private static let mirrors = ["https://one.test/a", "https://two.test/a"]
    private static let hosts =
        [StoreFixture.hostKey] + ["one", "two"].map { HostKey(host: "\($0).test", port: 443) }

    private static func move(
        to rank: Int,
        _ wait: MirrorMove.Wait = .nothing,
        givenUp: Set<Int> = [],
        isOffline: Bool = false,
        rest: Duration = .zero
    ) -> AttemptOutcome {
        var place = MirrorPlace(rank: rank, givenUp: givenUp)
        place.isOffline = isOffline
        place.rest = rest
        return .moved(
            StoreFixture.failure,
            MirrorMove(place: place, host: hosts[rank], wait: wait)
        )
    }

    private func submit(_ fixture: StoreFixture, _ count: Int = 1) async throws -> [TaskID] {
        try await fixture.submit(count) { submission, _ in
            submission.options.mirrors = Self.mirrors
        }
    }

    private func claim(_ fixture: StoreFixture) async throws -> TaskClaim {
        try #require(try await fixture.claim(1).first)
    }

    private func place(_ claim: TaskClaim, _ fixture: StoreFixture) async throws -> MirrorPlace? {
        try await fixture.stores.mirrors.places(of: [claim])[claim.task]
    }

    /// It is claimed at the other host, and its attempt does not count.
    @Test func aMoveAtOnceQueuesTheTaskAtTheOtherHost() async throws {
        let fixture = try await StoreFixture()
        let id = try await submit(fixture)[0]
        let first = try await claim(fixture)
        #expect(first.hostKey == Self.hosts[0])
        #expect(first.options.mirrors == Self.mirrors)
        #expect(try await place(first, fixture) == nil)
        let move = Self.move(to: 2, givenUp: [0, 1], isOffline: true, rest: .seconds(100))
        #expect(try await fixture.end([first], move) == [id])
        let task = try await fixture.task(id)
        #expect(task.state == .queued)
        #expect(task.attempt == 0)
        #expect(task.url == "https://origin.test/a")
        #expect(task.options.mirrors == Self.mirrors)
        try await fixture.checkInvariants()

        let second = try await claim(fixture)
        #expect(second.hostKey == Self.hosts[2])
        #expect(second.number == 1)
        let found = try #require(try await place(second, fixture))
        #expect(found.rank == 2)
        #expect(found.givenUp == [0, 1])
        #expect(found.isOffline)
        #expect((.seconds(50)...(.seconds(100))).contains(found.rest))
        let attempts = try #require(
            try await fixture.stores.tasks.attempts(tenant: fixture.tenant, task: id)
        )
        #expect(attempts.map(\.outcome) == [.retried])
        #expect(attempts.map(\.failure?.code) == [.connectionLost])
        // Like a task that is given back it says nothing; its next attempt does.
        #expect(try await fixture.events().map(\.kind) == [.taskCreated])
    }

    @Test func aFurtherMoveStoresAllOfItsPlace() async throws {
        let fixture = try await StoreFixture()
        _ = try await submit(fixture)
        let first = Self.move(to: 1, givenUp: [0], isOffline: true, rest: .seconds(100))
        _ = try await fixture.end([claim(fixture)], first)
        _ = try await fixture.end([claim(fixture)], Self.move(to: 2, givenUp: [0, 1]))
        var expected = MirrorPlace(rank: 2, givenUp: [0, 1])
        expected.isOffline = false
        #expect(try await place(claim(fixture), fixture) == expected)
        try await fixture.checkInvariants()
    }

    @Test(arguments: [
        (MirrorMove.Wait.retry(.zero), TransferState.waitingForRetry, 2),
        (.connectivity(.zero), .waitingForConnectivity, 1),
    ])
    func aRoundThatWaitsCountsUnlessNoHostWasReached(
        wait: MirrorMove.Wait,
        state: TransferState,
        number: Int
    ) async throws {
        let fixture = try await StoreFixture()
        let id = try await submit(fixture)[0]
        _ = try await fixture.end([claim(fixture)], Self.move(to: 1))
        #expect(try await fixture.end([claim(fixture)], Self.move(to: 0, wait)) == [id])
        #expect(try await fixture.state(id) == state)
        try await fixture.checkInvariants()
        #expect(try await fixture.stores.queue.promoteDue().promoted == 1)
        let again = try await claim(fixture)
        #expect(again.hostKey == Self.hosts[0])
        #expect(again.number == number)
        #expect(try await place(again, fixture)?.rank == 0)
        #expect(try await fixture.events().map(\.kind) == [.taskCreated, .taskWaiting])
    }

    /// Whatever puts the task into the queue puts it into that of the mirror's host.
    @Test func aTaskStaysAtItsMirror() async throws {
        let fixture = try await StoreFixture()
        let id = try await submit(fixture)[0]
        _ = try await fixture.end([claim(fixture)], Self.move(to: 1))
        _ = try await fixture.end([claim(fixture)], .released)
        _ = try await fixture.end([claim(fixture)], .retry(StoreFixture.failure, after: .zero))
        _ = try await fixture.stores.queue.promoteDue()
        let running = try await claim(fixture)
        #expect(running.hostKey == Self.hosts[1])
        _ = try await fixture.stores.control.suspendTask(tenant: fixture.tenant, id: id)
        _ = try await fixture.stores.control.resumeTask(tenant: fixture.tenant, id: id)
        let resumed = try await claim(fixture)
        #expect(resumed.hostKey == Self.hosts[1])
        #expect(try await place(resumed, fixture)?.rank == 1)
        try await fixture.checkInvariants()
    }

    @Test func aStaleAttemptMovesNothing() async throws {
        let fixture = try await StoreFixture()
        _ = try await submit(fixture)
        let stale = try await claim(fixture)
        _ = try await fixture.end([stale], .released)
        let claim = try await claim(fixture)
        #expect(try await fixture.end([stale], Self.move(to: 1)).isEmpty)
        #expect(try await place(claim, fixture) == nil)
        #expect(try await fixture.end([claim], Self.move(to: 2)) == [claim.task])
        try await fixture.checkInvariants()
    }

    /// Ends of all kinds share a statement, and each task goes its own way.
    @Test func othersOfTheSameStatementStayWhereTheyAre() async throws {
        let fixture = try await StoreFixture()
        _ = try await submit(fixture, 4)
        let claims = try await fixture.claim(4)
        let outcomes: [AttemptOutcome] = [
            Self.move(to: 1), .retry(StoreFixture.failure, after: .seconds(60)), .released,
            .failed(StoreFixture.failure),
        ]
        let ended = try await fixture.stores.completions.end(
            zip(claims, outcomes).map {
                AttemptEnd(task: $0.task, fence: $0.fence, outcome: $1)
            }
        )
        #expect(ended == Set(claims.map(\.task)))
        #expect(
            try await fixture.states(claims.map(\.task)) == [
                .queued, .waitingForRetry, .queued, .failed,
            ]
        )
        #expect(try await fixture.count("SELECT count(*) FROM task_mirror") == 1)
        let next = try await fixture.claim(4)
        #expect(Set(next.map(\.hostKey)) == Set(Self.hosts.prefix(2)))
        try await fixture.checkInvariants()
    }

    @Test func aRetryStartsAtTheURL() async throws {
        let fixture = try await StoreFixture()
        let ids = try await submit(fixture, 2)
        let given: Set<Int> = [0]
        for rank in 1...2 {
            _ = try await fixture.end(fixture.claim(2), Self.move(to: rank, givenUp: given))
        }
        #expect(try await fixture.end(fixture.claim(2), .failed(StoreFixture.failure)).count == 2)
        for id in ids {
            _ = try await fixture.stores.retries.retryTask(
                tenant: fixture.tenant,
                id: id,
                hasBody: false
            )
        }
        try await fixture.checkInvariants()
        let claims = try await fixture.claim(2)
        #expect(claims.map(\.hostKey) == [Self.hosts[0], Self.hosts[0]])
        // That they have left it once is remembered, for what they have may be a mirror's.
        let places = try await fixture.stores.mirrors.places(of: claims)
        #expect(ids.map { places[$0] } == [MirrorPlace(), MirrorPlace()])
    }

    /// A client that is asked may give another address.
    @Test func anotherRequestStartsAtItsURL() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit(1) { submission, _ in
            submission.options.mirrors = Self.mirrors
            submission.options.asksToBegin = true
            submission.earliestBeginAt = Date(timeIntervalSinceNow: -1)
        }[0]
        _ = try await fixture.end([claim(fixture)], Self.move(to: 1))
        _ = try await fixture.end([claim(fixture)], .failed(StoreFixture.failure))
        _ = try await fixture.aside.execute(
            "UPDATE task SET earliest_begin_at = clock_timestamp() + interval '1 hour'"
        )
        _ = try await fixture.stores.retries.retryTask(
            tenant: fixture.tenant,
            id: id,
            hasBody: false
        )
        #expect(try await fixture.state(id) == .scheduled)
        try await fixture.checkInvariants()
        _ = try await fixture.aside.execute("UPDATE delayed SET due_at = clock_timestamp()")
        #expect(try await fixture.stores.queue.promoteDue().asked == 1)
        // As if it had been at a mirror when it was suspended and asked again.
        _ = try await fixture.aside.execute(
            "UPDATE task_mirror SET rank = 1, given_up = 1, url_host_key = 7"
        )
        _ = try await fixture.stores.questions.beginTask(
            tenant: fixture.tenant,
            id: id,
            with: NewRequest(url: "https://two.test/b", hostKey: Self.hosts[2], headers: [])
        )
        let claim = try await claim(fixture)
        #expect(claim.hostKey == Self.hosts[2])
        #expect(claim.url == "https://two.test/b")
        #expect(try await place(claim, fixture) == MirrorPlace())
        #expect(
            try await fixture.count("SELECT url_host_key AS count FROM task_mirror")
                == Self.hosts[2].rawValue
        )
        try await fixture.checkInvariants()
    }

    @Test func nothingStaysBehindTheTask() async throws {
        let fixture = try await StoreFixture()
        let id = try await submit(fixture)[0]
        _ = try await fixture.end([claim(fixture)], Self.move(to: 1))
        _ = try await fixture.end([claim(fixture)], .failed(StoreFixture.failure))
        try await fixture.stores.retention.expire([id])
        #expect(try await fixture.count("SELECT count(*) FROM task_mirror") == 0)
    }

    /// The next mirror gets what is there, and proves that it has the same.
    @Test func thePartOfTheFileGoesAlong() async throws {
        let fixture = try await StoreFixture()
        _ = try await submit(fixture)
        let first = try await claim(fixture)
        let part = try #require(
            StoreFixture.progress(of: first.task, fence: first.fence).checkpoint
        )
        _ = try await fixture.stores.completions.end([
            AttemptEnd(
                task: first.task,
                fence: first.fence,
                outcome: Self.move(to: 1),
                bytesReceived: 600,
                partial: part
            )
        ])
        let second = try await claim(fixture)
        #expect(second.partial == part)
        try await fixture.checkInvariants()
    }
}
