import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// The end of ephemeral sessions.
@Suite(.postgresSchema) struct ErasureTests {
    private static let hidden = "hidden"

    private func fixture() async throws -> StoreFixture {
        let fixture = try await StoreFixture()
        try await fixture.putSession(Self.hidden, kind: .ephemeral)
        return fixture
    }

    private func invalidate(_ fixture: StoreFixture, _ identifier: String) async throws {
        let isEnded = try await fixture.stores.sessions.invalidateSession(
            tenant: fixture.tenant,
            identifier: identifier
        )
        #expect(isEnded)
    }

    private func sessions(_ fixture: StoreFixture) async throws -> Int64 {
        try await fixture.count("SELECT count(*) AS count FROM session")
    }

    @Test func aBackgroundSessionIsNotErased() async throws {
        let fixture = try await fixture()
        let ids = try await fixture.submit(2)
        try await invalidate(fixture, StoreFixture.identifier)
        #expect(try await fixture.stores.erasure.tasksToErase().isEmpty)
        try await fixture.stores.erasure.erase([])
        #expect(try await fixture.states(ids) == [.cancelled, .cancelled])
        #expect(try await sessions(fixture) == 2)
    }

    @Test func aSessionWithoutTasksIsErased() async throws {
        let fixture = try await fixture()
        try await invalidate(fixture, Self.hidden)
        #expect(try await fixture.stores.erasure.tasksToErase().isEmpty)
        try await fixture.stores.erasure.erase([])
        #expect(try await sessions(fixture) == 1)
        try await fixture.checkInvariants()
    }

    /// Otherwise what says that it is to be erased would be left.
    @Test func theErasureOfASessionIsNotLeftToTheRetention() async throws {
        let fixture = try await fixture()
        try await invalidate(fixture, Self.hidden)
        _ = try await fixture.aside.execute("DELETE FROM event_run")
        while try await fixture.stores.counts.foldMoves() > 0 {}
        let retention = fixture.stores.retention
        #expect(try await retention.pruneSessions(endedBefore: .zero, after: nil).removed == 0)
        try await fixture.stores.erasure.erase([])
        #expect(try await sessions(fixture) == 1)
        #expect(try await fixture.count("SELECT count(*) AS count FROM erasure") == 0)
    }

    /// Otherwise nothing would be left by which its cancellation is found to be done.
    @Test func aSessionIsErasedAfterItsCancellation() async throws {
        let fixture = try await fixture()
        _ = try await fixture.stores.retention.endIdleSessions(idle: .zero, after: nil)
        try await fixture.stores.erasure.erase([])
        #expect(try await sessions(fixture) == 2)
        try await fixture.stores.cancellations.continueCancellations()
        try await fixture.stores.erasure.erase([])
        #expect(try await sessions(fixture) == 1)
        #expect(try await fixture.count("SELECT count(*) AS count FROM cancellation") == 0)
    }

    @Test func aTaskIsErasedWhenItsWorkerHasStopped() async throws {
        let fixture = try await fixture()
        let id = try await fixture.submit(1, to: Self.hidden)[0]
        let claim = try await fixture.claim()[0]
        try await invalidate(fixture, Self.hidden)
        #expect(try await fixture.stores.erasure.tasksToErase().isEmpty)
        try await fixture.stores.erasure.erase([])
        #expect(try await sessions(fixture) == 2)
        try await fixture.stores.workers.removeRevocations([claim.fence])
        // Its worker may have been killed before the part was gone.
        let parts = try await fixture.stores.parts.abandonedParts()
        #expect(parts.map(\.fence) == [claim.fence])
        #expect(try await fixture.stores.erasure.tasksToErase().isEmpty)
        try await fixture.stores.parts.forgetAbandonedParts(parts.map(\.fence))
        let remains = try await fixture.stores.erasure.tasksToErase()
        #expect(remains.map(\.task) == [id])
        #expect(remains.map(\.paths) == [[]])
        // As long as files could not be removed, the row that names them stays.
        try await fixture.stores.erasure.erase([])
        #expect(try await fixture.stores.erasure.tasksToErase().count == 1)
        try await fixture.stores.erasure.erase([id])
        #expect(try await sessions(fixture) == 1)
        try await fixture.checkInvariants()
    }

    @Test(arguments: [true, false])
    func subscribersAreToldFirstAndHaveAnHour(answers: Bool) async throws {
        let fixture = try await fixture()
        try await fixture.subscribe()
        let id = try await fixture.submit(1, to: Self.hidden)[0]
        try await invalidate(fixture, Self.hidden)
        #expect(try await fixture.stores.erasure.tasksToErase().isEmpty)
        let claim = try await fixture.claimDeliveries()[0]
        #expect(try await fixture.stores.erasure.tasksToErase().isEmpty)
        let last = try #require(
            try await fixture.stores.events.events(of: claim.session, after: 0, limit: 9).last
        ).sequence
        if answers {
            let standing = try await fixture.stores.deliveries.recordDelivered(
                claim,
                through: last,
                status: 204,
                lease: .seconds(600)
            )
            #expect(standing == .current)
            #expect(try await fixture.stores.deliveries.releaseDelivery(claim) != .stale)
        } else {
            _ = try await fixture.aside.execute(
                "UPDATE erasure SET begun_at = now() - interval '61 minutes'"
            )
        }
        #expect(try await fixture.stores.erasure.tasksToErase().map(\.task) == [id])
        try await fixture.stores.erasure.erase([id])
        #expect(try await fixture.count("SELECT count(*) AS count FROM event") == 0)
        #expect(try await fixture.count("SELECT count(*) AS count FROM delivery") == 0)
        // A worker that was delivering at that moment has lost its claim.
        let late = try await fixture.stores.deliveries.recordDelivered(
            claim,
            through: last,
            status: 204,
            lease: .seconds(600)
        )
        #expect(late == .stale)
    }

    /// However many events a session has, no statement removes more of them than it has time for.
    @Test func theEventsOfALongSessionGoInPieces() async throws {
        let fixture = try await fixture()
        let kept = try await fixture.submit(1)
        try await fixture.submit(1000, to: Self.hidden)
        try await invalidate(fixture, Self.hidden)
        let events: Query = """
            SELECT count(*) AS count FROM event v JOIN session s ON s.id = v.session_id
            WHERE s.identifier = \(Self.hidden)
            """
        let remains = try await fixture.stores.erasure.tasksToErase()
        #expect(remains.count == 1000)
        // Each task was created and cancelled.
        let count = try await fixture.count(events)
        #expect(count > 2000)
        #expect(try await fixture.stores.erasure.erase(remains.map(\.task)).isMore)
        #expect(try await fixture.count(events) == count - 1000)
        #expect(try await sessions(fixture) == 2)
        #expect(try await fixture.stores.erasure.erase([]).isMore)
        #expect(try await fixture.count(events) == 0)
        #expect(try await sessions(fixture) == 1)
        #expect(try await !fixture.stores.erasure.erase([]).isMore)
        #expect(try await fixture.states(kept) == [.queued])
        try await fixture.checkInvariants()
    }

    /// A task of another session may continue a part file until it has taken it over.
    @Test func whatAnotherTaskGoesOnWithIsKept() async throws {
        let fixture = try await fixture()
        try await fixture.submit(1, to: Self.hidden)
        let claim = try await fixture.claim()[0]
        try await fixture.stores.parts.recordProgress([
            StoreFixture.progress(of: claim.task, fence: claim.fence)
        ])
        let token = ResumeDataID(UUID())
        _ = try await fixture.stores.control.cancelTask(
            tenant: fixture.tenant,
            id: claim.task,
            producing: token
        )
        try await fixture.stores.workers.removeRevocations([claim.fence])
        let heir = try await fixture.submit { submission, _ in submission.resumeData = token }[0]
        try await invalidate(fixture, Self.hidden)
        #expect(try await fixture.stores.erasure.tasksToErase().isEmpty)
        _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: heir)
        let parts = try await fixture.stores.parts.abandonedParts()
        #expect(parts.map(\.fence) == [claim.fence])
        #expect(try await fixture.stores.erasure.tasksToErase().isEmpty)
        try await fixture.stores.parts.forgetAbandonedParts(parts.map(\.fence))
        #expect(try await fixture.stores.erasure.tasksToErase().map(\.task) == [claim.task])
    }

    @Test func resumeDataThatNobodyTookIsGivenUp() async throws {
        let fixture = try await fixture()
        try await fixture.submit(1, to: Self.hidden)
        let claim = try await fixture.claim()[0]
        try await fixture.stores.parts.recordProgress([
            StoreFixture.progress(of: claim.task, fence: claim.fence)
        ])
        let token = ResumeDataID(UUID())
        _ = try await fixture.stores.control.cancelTask(
            tenant: fixture.tenant,
            id: claim.task,
            producing: token
        )
        try await fixture.stores.workers.removeRevocations([claim.fence])
        try await invalidate(fixture, Self.hidden)
        #expect(try await fixture.stores.erasure.tasksToErase().isEmpty)
        #expect(try await !fixture.stores.control.hasResumeData(token))
        let parts = try await fixture.stores.parts.abandonedParts()
        #expect(parts.map(\.fence) == [claim.fence])
    }

    @Test func sessionsBehindAPageFollowAtOnce() async throws {
        let fixture = try await fixture()
        let names = (0..<150).map { "brief-\($0)" }
        for name in names {
            try await fixture.putSession(name, kind: .ephemeral)
            try await invalidate(fixture, name)
        }
        var pages: [Int] = []
        var isMore = true
        while isMore {
            let erased = try await fixture.stores.erasure.erase([])
            pages.append(erased.sessions)
            isMore = erased.isMore
        }
        #expect(pages == [100, 50])
    }

    /// Tasks elsewhere that continue with the bytes of theirs may wait as long as they like.
    @Test func sessionsThatAreHeldHoldUpNoOther() async throws {
        let fixture = try await StoreFixture()
        for index in 0...100 {
            try await fixture.putSession("held-\(index)", kind: .ephemeral)
            try await fixture.submit(1, to: "held-\(index)")
            try await invalidate(fixture, "held-\(index)")
        }
        _ = try await fixture.aside.execute(
            """
            INSERT INTO partial (task_id, part_fence, source_task_id, boot_id, bytes_durable,
                bytes_total, validator)
            SELECT gen_random_uuid(), row_number() OVER (), t.id, gen_random_uuid(), 1, 2, '"1"'
            FROM task t
            """
        )
        try await fixture.putSession(Self.hidden, kind: .ephemeral)
        let free = try await fixture.submit(1, to: Self.hidden)
        try await invalidate(fixture, Self.hidden)
        var found: [TaskID] = []
        var position: SessionID?
        repeat {
            let remains = try await fixture.stores.erasure.tasksToErase(after: position)
            found += remains.map(\.task)
            let erased = try await fixture.stores.erasure.erase(
                remains.map(\.task),
                after: position
            )
            position = erased.position
        } while position != nil
        #expect(found == free)
        #expect(try await sessions(fixture) == 102)
    }

    /// As of sessions that were removed while they were given to the erasure.
    @Test func whatWaitsForSessionsThatAreGoneIsRemoved() async throws {
        let fixture = try await fixture()
        try await fixture.submit(1, to: Self.hidden)
        try await invalidate(fixture, Self.hidden)
        _ = try await fixture.aside.execute(
            "INSERT INTO erasure SELECT gen_random_uuid() FROM generate_series(1, 150)"
        )
        var position: SessionID?
        repeat {
            let erased = try await fixture.stores.erasure.erase([], after: position)
            #expect(erased.sessions == 0)
            position = erased.position
        } while position != nil
        #expect(try await fixture.count("SELECT count(*) AS count FROM erasure") == 1)
        #expect(try await sessions(fixture) == 2)
    }

    /// By a clock that is ahead, subscribers would not be told.
    @Test func theHourOfSubscribersIsOneThatHasPassed() async throws {
        let fixture = try await fixture()
        try await fixture.subscribe()
        let id = try await fixture.submit(1, to: Self.hidden)[0]
        try await invalidate(fixture, Self.hidden)
        _ = try await fixture.aside.execute(
            "UPDATE erasure SET begun_at = now() - interval '61 minutes'"
        )
        let early = try await fixture.stores.erasure.tasksToErase(notAfter: Date() - 1800)
        #expect(early.isEmpty)
        #expect(try await fixture.stores.erasure.tasksToErase().map(\.task) == [id])
    }

    /// Each has a share of a turn, so that what is small is gone at once.
    @Test func aLargeSessionHoldsUpNoOther() async throws {
        let fixture = try await StoreFixture()
        try await fixture.putSession("large", kind: .ephemeral)
        for _ in 0..<5 { try await fixture.submit(1000, to: "large") }
        try await fixture.putSession("small", kind: .ephemeral)
        try await fixture.submit(1, to: "small")
        try await invalidate(fixture, "large")
        try await invalidate(fixture, "small")
        while try await fixture.stores.cancellations.continueCancellations() {}
        for _ in 0..<2 {
            let remains = try await fixture.stores.erasure.tasksToErase()
            #expect(remains.count == ErasureStore.erasureTasksMax)
            #expect(Set(remains.map(\.task)).count == remains.count)
            try await fixture.stores.erasure.erase(remains.map(\.task))
        }
        let left = try await fixture.count(
            "SELECT count(*) AS count FROM session WHERE identifier = 'small'"
        )
        #expect(left == 0)
        #expect(try await sessions(fixture) == 2)
    }

    @Test func whatADeletedSubscriptionWasToldGoesWithIt() async throws {
        let fixture = try await fixture()
        try await fixture.subscribe(client: .default, session: Self.hidden)
        let deleted = try await fixture.subscribe()
        let id = try await fixture.submit(1, to: Self.hidden)[0]
        let claims = try await fixture.claimDeliveries()
        #expect(claims.count == 2)
        for claim in claims { _ = try await fixture.fail(claim) }
        let isDeleted = try await fixture.stores.subscriptions.deleteSubscription(
            tenant: fixture.tenant,
            id: deleted
        )
        #expect(isDeleted)
        try await invalidate(fixture, Self.hidden)
        _ = try await fixture.aside.execute(
            "UPDATE erasure SET begun_at = now() - interval '61 minutes'"
        )
        #expect(try await fixture.stores.erasure.tasksToErase().map(\.task) == [id])
        try await fixture.stores.erasure.erase([id])
        #expect(try await sessions(fixture) == 1)
        func told() async throws -> [Int64] {
            [
                try await fixture.count("SELECT count(*) AS count FROM delivery"),
                try await fixture.count("SELECT count(*) AS count FROM delivery_log"),
                try await fixture.count("SELECT count(*) AS count FROM delivery_attempt"),
            ]
        }
        #expect(try await told() == [1, 1, 1])
        while try await fixture.stores.retention.pruneSubscriptions(deletedBefore: .zero) {}
        #expect(try await told() == [0, 0, 0])
    }
}
