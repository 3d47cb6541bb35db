import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// Tests of task counts; the invariants check after all other tests that the counts are right.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct TaskCountTests {
    private func counts(_ fixture: StoreFixture) async throws -> TaskCounts {
        let counts = try await fixture.session().taskCounts
        // It is the only session of the tenant.
        #expect(try await fixture.stores.tenants.tenant(fixture.tenant).taskCounts == counts)
        return counts
    }

    @Test func tellWhereTasksAreAndWhatTheyHaveMoved() async throws {
        let fixture = try await StoreFixture()
        #expect(try await counts(fixture) == TaskCounts())
        let ids = try await fixture.submit(6) { task, index in
            if index == 4 { task.autostart = false }
            if index == 5 { task.earliestBeginAt = Date() + 3600 }
        }
        #expect(
            try await counts(fixture) == TaskCounts([.queued: 4, .suspended: 1, .scheduled: 1])
        )
        let claims = try await fixture.claim(3)
        #expect(
            try await counts(fixture)
                == TaskCounts([.queued: 1, .running: 3, .suspended: 1, .scheduled: 1])
        )
        try await fixture.beginRenames([claims[0]])
        _ = try await fixture.stores.completions.end([
            AttemptEnd(task: claims[0].task, fence: claims[0].fence, outcome: .completed),
            AttemptEnd(
                task: claims[1].task,
                fence: claims[1].fence,
                outcome: .failed(TransferFailure(.timedOut, "late")),
                bytesReceived: 7,
                bytesSent: 5
            ),
            AttemptEnd(
                task: claims[2].task,
                fence: claims[2].fence,
                outcome: .retry(TransferFailure(.timedOut, "late"), after: .seconds(60)),
                bytesReceived: 11
            ),
        ])
        let after = try await counts(fixture)
        let bytes = try await fixture.task(claims[0].task).bytesReceived
        #expect(bytes > 0)
        let expected = TaskCounts(
            [
                .queued: 1, .waitingForRetry: 1, .suspended: 1, .scheduled: 1, .completed: 1,
                .failed: 1,
            ],
            bytesReceived: bytes + 7,
            bytesSent: 5
        )
        #expect(after == expected)
        #expect(after.outstanding == 4)
        _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: ids[5])
        #expect(try await counts(fixture)[.cancelled] == 1)
        #expect(try await counts(fixture)[.scheduled] == 0)
        try await fixture.checkInvariants()
    }

    @Test func followTasksThatWait() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit(1) { task, _ in
            task.earliestBeginAt = Date() + 3600
        }[0]
        func expect(_ state: TransferState, _ location: SourceLocation = #_sourceLocation)
            async throws
        {
            #expect(
                try await counts(fixture) == TaskCounts([state: 1]),
                sourceLocation: location
            )
            #expect(try await fixture.state(id) == state, sourceLocation: location)
        }
        func promote() async throws {
            _ = try await fixture.aside.execute("UPDATE delayed SET due_at = now()")
            #expect(try await fixture.stores.queue.promoteDue().promoted == 1)
            try await expect(.queued)
        }
        try await expect(.scheduled)
        try await promote()
        for (outcome, state): (AttemptOutcome, TransferState) in [
            (.retry(StoreFixture.failure, after: .seconds(60)), .waitingForRetry),
            (
                .waitForConnectivity(StoreFixture.failure, after: .seconds(60)),
                .waitingForConnectivity
            ),
        ] {
            try await fixture.end(try await fixture.claim(), outcome)
            try await expect(state)
            try await promote()
        }
        try await fixture.end(try await fixture.claim(), .released)
        try await expect(.queued)
        _ = try await fixture.stores.control.suspendTask(tenant: fixture.tenant, id: id)
        try await expect(.suspended)
        // Back to the time for which it was submitted.
        _ = try await fixture.stores.control.resumeTask(tenant: fixture.tenant, id: id)
        try await expect(.scheduled)
        try await fixture.checkInvariants()
    }

    @Test func whatIsFoldedCountsTheSame() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(3)
        try await fixture.complete(try await fixture.claim(1))
        let before = try await counts(fixture)
        #expect(try await fixture.stores.counts.foldMoves() == 3)
        #expect(try await fixture.stores.counts.foldMoves() == 0)
        #expect(try await fixture.count("SELECT count(*) AS count FROM task_move") == 0)
        #expect(try await counts(fixture) == before)
        try await fixture.complete(try await fixture.claim())
        #expect(try await counts(fixture)[.completed] == 3)
        #expect(try await counts(fixture)[.queued] == 0)
        try await fixture.checkInvariants()
    }

    /// As when the counts alone were reverted: the migration counts the existing tasks.
    @Test func whatWasThereBeforeIsCountedOnce() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(7) { task, index in
            if index == 0 { task.autostart = false }
            if index == 1 { task.earliestBeginAt = Date() + 3600 }
        }
        let claims = try await fixture.claim(4)
        try await fixture.beginRenames([claims[0]])
        try await fixture.end([claims[1]], .failed(StoreFixture.failure))
        try await fixture.end([claims[2]], .retry(StoreFixture.failure, after: .seconds(60)))
        let before = try await counts(fixture)
        let path = "\(Checkout.migrations)/0008_counts.up.sql"
        let migration = try String(contentsOfFile: path, encoding: .utf8)
        let begin = try #require(migration.range(of: "INSERT INTO task_move"))
        _ = try await fixture.aside.execute(
            "TRUNCATE task_move, session_task_count, tenant_task_count, task_count"
        )
        _ = try await fixture.aside.execute(
            Query(stringLiteral: String(migration[begin.lowerBound...]))
        )
        #expect(try await counts(fixture) == before)
        try await fixture.checkInvariants()
    }

    /// Readers, writers and folders work at the same time.
    @Test func noMoveIsFoldedTwiceOrNever() async throws {
        let fixture = try await StoreFixture()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    for _ in 0..<40 {
                        _ = try await fixture.stores.counts.foldMoves()
                        let counts = try await fixture.session().taskCounts
                        #expect(TransferState.allCases.allSatisfy { counts[$0] >= 0 })
                    }
                }
            }
            for _ in 0..<40 {
                try await fixture.submit(5)
                try await fixture.complete(try await fixture.claim(3))
            }
            try await group.waitForAll()
        }
        let counts = try await counts(fixture)
        #expect(counts[.queued] == 80 && counts[.completed] == 120)
        try await fixture.checkInvariants()
    }

    /// One at a time: the second finds the first one's lock, and nothing to do.
    @Test func whoFoldsWaitsForNobody() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit()
        let other = try await TestDatabase.current.connection()
        _ = try await other.execute(
            "SELECT pg_advisory_lock(x'74657079'::integer, hashtext(current_schema()))"
        )
        #expect(try await fixture.stores.counts.foldMoves() == 0)
        await other.close()
        try await eventually("the lock is free") {
            try await fixture.stores.counts.foldMoves() == 1
        }
        try await fixture.checkInvariants()
    }

    @Test func aTenantsCountsAreThoseOfAllItsSessions() async throws {
        let fixture = try await StoreFixture()
        try await fixture.putSession("other")
        try await fixture.submit(2)
        _ = try await fixture.stores.counts.foldMoves()
        try await fixture.submit(3, to: "other")
        #expect(try await fixture.session("other").taskCounts == TaskCounts([.queued: 3]))
        let tenant = try await fixture.stores.tenants.tenant(fixture.tenant)
        #expect(tenant.name == "test")
        #expect(tenant.taskCounts == TaskCounts([.queued: 5]))
        _ = try await fixture.stores.sessions.invalidateSession(
            tenant: fixture.tenant,
            identifier: "other"
        )
        #expect(
            try await fixture.stores.tenants.tenant(fixture.tenant).taskCounts
                == TaskCounts([.queued: 2, .cancelled: 3])
        )
        try await fixture.checkInvariants()
    }
}
