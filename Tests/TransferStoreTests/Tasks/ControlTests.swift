import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@Suite(.postgresSchema) struct ControlTests {
    private func cancel(_ id: TaskID, _ fixture: StoreFixture) async throws -> TransferState? {
        try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: id)?.state
    }

    @Test func cancelsATaskWhereverItWaits() async throws {
        let fixture = try await StoreFixture()
        let suspended = try await fixture.submit { submission, _ in submission.autostart = false }
        let scheduled = try await fixture.submit { submission, _ in
            submission.earliestBeginAt = Date(timeIntervalSinceNow: 3600)
        }
        let waiting = try await fixture.submit()
        try await fixture.end(
            try await fixture.claim(),
            .retry(StoreFixture.failure, after: .seconds(60))
        )
        let queued = try await fixture.submit()
        let ids = suspended + scheduled + waiting + queued
        #expect(
            try await fixture.states(ids) == [.suspended, .scheduled, .waitingForRetry, .queued]
        )
        for id in ids { #expect(try await cancel(id, fixture) == .cancelled) }
        #expect(try await fixture.task(waiting[0]).attempt == 1)
        #expect(try await fixture.claim().isEmpty)
        #expect(try await fixture.stores.queue.promoteDue().next == nil)
        #expect(try await fixture.session().progress.cancelled == 4)
        #expect(try await fixture.events().last?.kind == .sessionEventsFinished)
        try await fixture.checkInvariants()
    }

    /// Neither the task nor its events forget it, wherever the task waits.
    @Test func whatHasArrivedStaysKnown() async throws {
        let fixture = try await StoreFixture()
        let (control, tenant) = (fixture.stores.control, fixture.tenant)
        let id = try await fixture.submit()[0]
        let claim = try await fixture.claim()[0]
        let outcome = AttemptOutcome.retry(StoreFixture.failure, after: .seconds(600))
        try await fixture.end(claim, outcome, leaving: 600)
        #expect(try await fixture.task(id).bytesReceived == 600)
        for _ in 0..<2 {
            let suspended = try await control.suspendTask(tenant: tenant, id: id).task
            #expect(suspended?.state == .suspended)
            #expect(suspended?.bytesReceived == 600)
            let resumed = try await control.resumeTask(tenant: tenant, id: id)
            #expect(resumed?.state == .queued)
            #expect(resumed?.bytesReceived == 600)
        }
        #expect(try await cancel(id, fixture) == .cancelled)
        #expect(try await fixture.task(id).bytesReceived == 600)
        let received = try await fixture.events().compactMap { $0.task?.bytesReceived }
        // It waits, is suspended and resumed twice, and is cancelled.
        let told = Array(received.drop { $0 == 0 })
        #expect(told == [600, 600, 600, 600, 600, 600])
        try await fixture.checkInvariants()
    }

    @Test func cancellingARunningTaskRevokesItsAttempt() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        let claim = try await fixture.claim()[0]
        try await fixture.stores.parts.recordProgress([
            AttemptProgress(task: id, fence: claim.fence, bytesReceived: 5, bytesExpected: 10)
        ])
        #expect(try await fixture.task(id).bytesExpected == 10)
        #expect(try await cancel(id, fixture) == .cancelled)
        #expect(try await fixture.task(id).bytesReceived == 5)
        let me = fixture.worker.incarnation
        for _ in 0..<2 {
            #expect(
                try await fixture.stores.workers.controls(incarnation: me).revocations == [
                    claim.fence
                ]
            )
        }
        try await fixture.stores.workers.removeRevocations([claim.fence])
        #expect(try await fixture.stores.workers.controls(incarnation: me).revocations.isEmpty)
        #expect(try await fixture.beginRenames([claim]).isEmpty)
        #expect(try await fixture.end([claim], .released).isEmpty)
        try await fixture.checkInvariants()
    }

    @Test func aTaskThatIsBeingRenamedOrHasEndedIsLeftAsItIs() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(3)
        let claims = try await fixture.claim()
        try await fixture.beginRenames(claims)
        #expect(try await cancel(claims[0].task, fixture) == .running)
        try await fixture.end([claims[0]], .completed)
        try await fixture.end([claims[1]], .failed(StoreFixture.failure))
        #expect(try await cancel(claims[0].task, fixture) == .completed)
        #expect(try await cancel(claims[1].task, fixture) == .failed)
        #expect(try await cancel(TaskID(.version7()), fixture) == nil)
        try await fixture.checkInvariants()
    }

    @Test func cancellingTwiceIsCancellingOnce() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        try await withThrowingTaskGroup(of: TransferState?.self) { group in
            for _ in 0..<10 { group.addTask { try await cancel(id, fixture) } }
            for try await state in group { #expect(state == .cancelled) }
        }
        #expect(
            try await fixture.events().map(\.kind) == [
                .taskCreated, .taskCancelled, .sessionEventsFinished,
            ]
        )
        try await fixture.checkInvariants()
    }

    @Test func ofACancellationAndARenameExactlyOneWins() async throws {
        let fixture = try await StoreFixture(connectionsMax: 10)
        var wins: [TransferState: Int] = [:]
        for _ in 0..<60 {
            let id = try await fixture.submit()[0]
            let claim = try await fixture.claim()[0]
            async let begun = fixture.beginRenames([claim])
            async let cancelled = cancel(id, fixture)
            let (hasBegun, state) = try await (begun == [id], cancelled)
            // The caller of cancel and the worker were told the same.
            #expect(hasBegun == (state == .running))
            #expect(hasBegun != (state == .cancelled))
            let ended = try await fixture.end([claim], .completed)
            #expect(ended.isEmpty != hasBegun)
            let end = try await fixture.state(id)
            #expect(end == (hasBegun ? .completed : .cancelled))
            wins[end, default: 0] += 1
        }
        try await fixture.checkInvariants()
    }

    @Test func cancelFindsATaskThatIsMovingThroughAllItsTables() async throws {
        let fixture = try await StoreFixture(connectionsMax: 10)
        let ids = try await fixture.submit(40)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while try await fixture.session().progress.outstanding > 0 {
                    let claims = try await fixture.claim(10)
                    try await fixture.end(
                        claims,
                        .retry(StoreFixture.failure, after: .zero)
                    )
                    _ = try await fixture.stores.queue.promoteDue()
                }
            }
            for id in ids {
                group.addTask {
                    let state = try await cancel(id, fixture)
                    #expect(state == .cancelled)
                }
            }
            try await group.waitForAll()
        }
        try await fixture.checkInvariants()
    }

    @Test func resumesASuspendedTaskOnce() async throws {
        let fixture = try await StoreFixture()
        let stores = fixture.stores
        let ids = try await fixture.submit(2) { submission, index in
            submission.autostart = false
            if index == 1 { submission.earliestBeginAt = Date(timeIntervalSinceNow: 3600) }
        }
        for _ in 0..<2 {
            let states = [
                try await stores.control.resumeTask(tenant: fixture.tenant, id: ids[0])?.state,
                try await stores.control.resumeTask(tenant: fixture.tenant, id: ids[1])?.state,
            ]
            #expect(states == [.queued, .scheduled])
        }
        #expect(try await fixture.events().count { $0.kind == .taskResumed } == 2)
        #expect(try await cancel(ids[0], fixture) == .cancelled)
        #expect(
            try await stores.control.resumeTask(tenant: fixture.tenant, id: ids[0])?.state
                == .cancelled
        )
        try await fixture.checkInvariants()
    }

    @Test func aTaskNeverBeginsEarlyByTheDatabasesClock() async throws {
        let fixture = try await StoreFixture()
        let now: Date = try await fixture.aside.execute("SELECT clock_timestamp() AS now")[0]
            .decode("now")
        let ids = try await fixture.submit(2) { submission, index in
            submission.earliestBeginAt = now.addingTimeInterval(index == 0 ? 0.3 : 3600)
        }
        // On a machine so slow that the time had come before the submission, there is nothing to
        // see.
        while try await fixture.states(ids)[0] == .scheduled {
            let promotion = try await fixture.stores.queue.promoteDue()
            // Until the first is due, the promotion waits for it.
            if promotion.promoted == 0, let next = promotion.next { #expect(next <= .seconds(1)) }
        }
        let lateness: Query = """
            SELECT (clock_timestamp() >= \(now.addingTimeInterval(0.3)))::int::bigint AS count
            """
        #expect(try await fixture.count(lateness) == 1)
        #expect(try await fixture.states(ids) == [.queued, .scheduled])
        #expect(try #require(try await fixture.stores.queue.promoteDue().next) > .seconds(3500))
        try await fixture.checkInvariants()
    }

    /// The database's clock is an hour ahead of the time that its caller knows.
    @Test func nothingIsDueByAClockThatWasSetAhead() async throws {
        let fixture = try await StoreFixture()
        let now: Date = try await fixture.aside.execute("SELECT clock_timestamp() AS now")[0]
            .decode("now")
        let known = now.addingTimeInterval(-3600)
        let id = try await fixture.submit { submission, _ in
            submission.earliestBeginAt = now.addingTimeInterval(3600)
        }[0]
        // It was submitted before the clock was set.
        _ = try await fixture.aside.execute(
            "UPDATE delayed SET due_at = \(known.addingTimeInterval(60))"
        )
        let held = try await fixture.stores.queue.promoteDue(notAfter: known)
        #expect(held.promoted == 0)
        let next = try #require(held.next)
        #expect(next > .seconds(59) && next < .seconds(61))
        #expect(held.date >= now)
        #expect(try await fixture.state(id) == .scheduled)
        let due = known.addingTimeInterval(60)
        #expect(try await fixture.stores.queue.promoteDue(notAfter: due).promoted == 1)
        try await fixture.checkInvariants()
    }

    @Test func promotesEachDueTaskOnceHoweverManyPromote() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(300)
        try await fixture.end(
            try await fixture.claim(300),
            .retry(StoreFixture.failure, after: .zero)
        )
        let promoted = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask { try await fixture.stores.queue.promoteDue().promoted }
            }
            return try await group.reduce(0, +)
        }
        // Rows that others were just promoting were skipped.
        let rest = try await fixture.stores.queue.promoteDue().promoted
        #expect(promoted + rest == 300)
        try await fixture.checkInvariants()
    }
}
