import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@Suite(.postgresSchema) struct AttemptEndTests {
    @Test func endsAMixedBatchEachInItsOwnWay() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(5)
        let claims = try await fixture.claim()
        try await fixture.beginRenames([claims[0]])
        let failure = TransferFailure(
            .httpStatus,
            "busy",
            httpStatus: 503,
            retryAfter: .seconds(30)
        )
        let outcomes: [AttemptOutcome] = [
            .completed, .failed(StoreFixture.failure), .retry(failure, after: .seconds(60)),
            .released, .requeued,
        ]
        let ended = try await fixture.stores.completions.end(
            zip(claims, outcomes).map {
                AttemptEnd(task: $0.task, fence: $0.fence, outcome: $1, bytesReceived: 7)
            }
        )
        #expect(ended == Set(claims.map(\.task)))
        let states = try await fixture.states(claims.map(\.task))
        #expect(states == [.completed, .failed, .waitingForRetry, .queued, .queued])
        let completed = try await fixture.task(claims[0].task)
        #expect(completed.result == StoreFixture.result)
        #expect(completed.bytesReceived == 42)
        #expect(completed.finishedAt != nil)
        let failed = try await fixture.task(claims[1].task)
        #expect(failed.failure == StoreFixture.failure)
        #expect(failed.bytesReceived == 7)
        let waiting = try await fixture.task(claims[2].task)
        #expect(waiting.failure == failure)
        #expect(waiting.waitsUntil != nil)
        #expect(waiting.attempt == 1)
        // An attempt given back unchanged does not count; one lost with its worker does.
        #expect(try await fixture.task(claims[3].task).attempt == 0)
        #expect(try await fixture.task(claims[4].task).attempt == 1)
        try await fixture.checkInvariants()
    }

    /// However often it meets a shortage, the task continues as its first attempt, with its file.
    @Test func aShortageDoesNotCount() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        let failure = TransferFailure(.storageUnwritable, "read-only")
        var part: Fence?
        for _ in 0..<10 {
            let claim = try await fixture.claim()[0]
            #expect(claim.number == 1)
            #expect(claim.partial?.partFence == part)
            part = part ?? claim.fence
            let attemptEnd = AttemptEnd(
                task: id,
                fence: claim.fence,
                outcome: .waitOut(failure, after: .zero),
                bytesReceived: 600,
                partial: StoreFixture.progress(of: id, fence: part ?? claim.fence).checkpoint
            )
            #expect(try await fixture.stores.completions.end([attemptEnd]) == [id])
            let task = try await fixture.task(id)
            #expect(task.state == .waitingForRetry)
            #expect(task.failure == failure)
            try await fixture.checkInvariants()
            _ = try await fixture.stores.queue.promoteDue()
        }
        let attempts = try await fixture.stores.tasks.attempts(tenant: fixture.tenant, task: id)
        #expect(attempts?.map(\.outcome) == Array(repeating: .retried, count: 10))
    }

    @Test func aFileWithoutADestinationIsTheResultAsItIs() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        let claim = try await fixture.claim()[0]
        #expect(try await fixture.fetch([claim]) == [id])
        let task = try await fixture.task(id)
        #expect(task.state == .completed)
        #expect(task.result == StoreFixture.result)
        #expect(task.part == claim.fence)
        #expect(
            try await fixture.events().map(\.kind) == [
                .taskCreated, .taskDownloadFinished, .taskCompleted, .sessionEventsFinished,
            ]
        )
        let attempts = try await fixture.stores.tasks.attempts(tenant: fixture.tenant, task: id)
        #expect(attempts?.map(\.outcome) == [.completed])
        // As after a lost answer: nothing changes, and the file is known to be needed.
        #expect(try await fixture.fetch([claim]).isEmpty)
        let other = fixture.worker.reserve(1).first
        #expect(
            try await fixture.stores.parts.keptParts([(id, claim.fence), (id, other)]) == [
                claim.fence
            ]
        )
        #expect(
            try await fixture.stores.verification.namedParts(among: [claim.fence, other], of: [id])
                == [claim.fence]
        )
        try await fixture.checkInvariants()
    }

    /// The file of the first attempt is the result of the second, and nobody may remove it.
    @Test func aFileThatWasGoneOnWithIsTheResult() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        let first = try await fixture.claim()[0]
        try await fixture.stores.parts.recordProgress([
            StoreFixture.progress(of: id, fence: first.fence)
        ])
        try await fixture.end([first], .released)
        let second = try await fixture.claim()[0]
        #expect(second.partial?.partFence == first.fence)
        #expect(try await fixture.fetch([second], part: first.fence) == [id])
        #expect(try await fixture.task(id).part == first.fence)
        #expect(try await fixture.stores.parts.abandonedParts().isEmpty)
        #expect(try await fixture.count("SELECT count(*) AS count FROM partial") == 0)
        try await fixture.checkInvariants()
    }

    /// The second attempt had to start again, and the file kept of the first is given up.
    @Test func aFileThatWasNotGoneOnWithIsGivenUp() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        let first = try await fixture.claim()[0]
        try await fixture.stores.parts.recordProgress([
            StoreFixture.progress(of: id, fence: first.fence)
        ])
        try await fixture.end([first], .released)
        let second = try await fixture.claim()[0]
        #expect(try await fixture.fetch([second]) == [id])
        #expect(try await fixture.task(id).part == second.fence)
        #expect(try await fixture.stores.parts.abandonedParts().map(\.fence) == [first.fence])
        try await fixture.checkInvariants()
    }

    @Test func aStaleFenceChangesNothing() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(2)
        let claims = try await fixture.claim()
        try await fixture.beginRenames([claims[1]])
        let outcomes: [AttemptOutcome] = [
            .completed, .fetched(StoreFixture.result, part: claims[0].fence),
            .failed(StoreFixture.failure), .retry(StoreFixture.failure, after: .seconds(1)),
            .released, .requeued,
        ]
        let stale = fixture.worker.reserve(1).first
        for outcome in outcomes {
            let ended = try await fixture.stores.completions.end(
                claims.map { AttemptEnd(task: $0.task, fence: stale, outcome: outcome) }
            )
            #expect(ended.isEmpty)
        }
        let begun = try await fixture.stores.completions.end(
            [],
            beginning: claims.map {
                PendingRename(
                    task: $0.task,
                    fence: stale,
                    partFence: stale,
                    tenant: $0.tenant,
                    destination: nil,
                    result: StoreFixture.result
                )
            }
        )
        #expect(begun.isEmpty)
        try await fixture.stores.parts.recordProgress([
            AttemptProgress(task: claims[0].task, fence: stale, bytesReceived: 9, bytesExpected: 10)
        ])
        #expect(try await fixture.task(claims[0].task).bytesReceived == 0)
        #expect(try await fixture.states(claims.map(\.task)) == [.running, .running])
        #expect(try await fixture.session().progress.outstanding == 2)
        try await fixture.checkInvariants()
    }

    @Test func aStaleEndInABatchWithTheLivingOneDoesNotCount() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        let old = try await fixture.claim()[0]
        try await fixture.end([old], .requeued)
        let new = try await fixture.claim()[0]
        _ = try await fixture.stores.completions.end([
            AttemptEnd(task: id, fence: old.fence, outcome: .released),
            AttemptEnd(task: id, fence: new.fence, outcome: .failed(StoreFixture.failure)),
        ])
        #expect(try await fixture.state(id) == .failed)
        try await fixture.checkInvariants()
    }

    @Test func aRepeatedEndIsStale() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(2)
        let claims = try await fixture.claim()
        #expect(try await fixture.beginRenames([claims[0]]) == [claims[0].task])
        // As after a lost answer.
        #expect(try await fixture.beginRenames([claims[0]]) == [claims[0].task])
        #expect(try await fixture.end([claims[0]], .completed).count == 1)
        #expect(try await fixture.end([claims[0]], .completed).isEmpty)
        #expect(try await fixture.end([claims[1]], .failed(StoreFixture.failure)).count == 1)
        #expect(try await fixture.end([claims[1]], .failed(StoreFixture.failure)).isEmpty)
        #expect(try await fixture.events().count { $0.kind == .sessionEventsFinished } == 1)
        try await fixture.checkInvariants()
    }

    @Test func anAttemptWithoutAPendingRenameCannotComplete() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        let claim = try await fixture.claim()[0]
        #expect(try await fixture.end([claim], .completed).isEmpty)
        #expect(try await fixture.state(id) == .running)
    }

    @Test func tellsWhatHappenedInOrder() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        let first = try await fixture.claim()
        try await fixture.end(first, .retry(StoreFixture.failure, after: .zero))
        _ = try await fixture.stores.queue.promoteDue()
        try await fixture.complete(try await fixture.claim())
        let events = try await fixture.events()
        #expect(
            events.map(\.kind) == [
                .taskCreated, .taskWaiting, .taskDownloadFinished, .taskCompleted,
                .sessionEventsFinished,
            ]
        )
        #expect(
            events.compactMap(\.task?.state) == [.queued, .waitingForRetry, .running, .completed]
        )
        #expect(events.compactMap(\.task?.attempt) == [0, 1, 2, 2])
        #expect(events.compactMap(\.task?.id) == [id, id, id, id])
        #expect(events[1].task?.failure == StoreFixture.failure)
        #expect(Set(events.map(\.id)).count == events.count)
        let times = events.map(\.occurredAt)
        #expect(times == times.sorted())
        #expect(
            events.last?.summary
                == SessionEvent.GenerationSummary(
                    completed: 1,
                    failed: 0,
                    cancelled: 0,
                    failedTasks: []
                )
        )
    }

    @Test func theSummaryNamesTheFirstThatFailed() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(25) { submission, index in
            submission.clientString = ClientString("task \u{0} \(index)")
        }
        try await fixture.end(
            try await fixture.claim(),
            .failed(TransferFailure(.egressDenied, "no"))
        )
        let summary = try #require(try await fixture.events().last?.summary)
        #expect(summary.failed == 25)
        let max = SessionEvent.GenerationSummary.failedTasksMax
        #expect(summary.failedTasks.map(\.id) == Array(ids.prefix(max)))
        #expect(summary.failedTasks[3].clientString == ClientString("task \u{0} 3"))
        #expect(summary.failedTasks.allSatisfy { $0.code == .egressDenied })
    }

    @Test func tasksWhoseStringsDoNotFitAreNamedWithoutThem() async throws {
        let fixture = try await StoreFixture()
        let half = String(repeating: "x", count: 5000)
        let ids = try await fixture.submit(4) { submission, index in
            submission.clientString = index == 3 ? nil : ClientString(half)
        }
        try await fixture.end(
            try await fixture.claim(),
            .failed(TransferFailure(.egressDenied, "no"))
        )
        let failed = try #require(try await fixture.events().last?.summary).failedTasks
        #expect(failed.map(\.id) == ids)
        #expect(failed.map(\.clientString) == [ClientString(half), nil, nil, nil])
        #expect(failed.map(\.isClientStringOmitted) == [false, true, true, false])
    }

    @Test func parallelEndsOfOneSessionFinishEachGenerationOnce() async throws {
        let fixture = try await StoreFixture(connectionsMax: 10)
        for generation in 1...10 {
            try await fixture.submit(64)
            let claims = try await fixture.claim()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for part in 0..<8 {
                    let mine = claims.enumerated().filter { $0.offset % 8 == part }.map(\.element)
                    group.addTask {
                        if part % 2 == 0 {
                            try await fixture.complete(mine)
                        } else {
                            try await fixture.end(mine, .failed(StoreFixture.failure))
                        }
                    }
                }
                try await group.waitForAll()
            }
            let ends = try await fixture.events().filter { $0.kind == .sessionEventsFinished }
            #expect(ends.map(\.generation) == (1...generation).map(Int64.init))
            #expect(ends.last?.summary?.completed == 32)
            #expect(ends.last?.summary?.failed == 32)
        }
        try await fixture.checkInvariants()
    }

    @Test func batchesOverTheSameSessionsNeverBlockEachOther() async throws {
        let fixture = try await StoreFixture(connectionsMax: 10)
        let identifiers = (0..<8).map { "s\($0)" }
        for identifier in identifiers {
            try await fixture.putSession(identifier)
            try await fixture.submit(8, to: identifier)
        }
        let claims = try await fixture.claim()
        // While the first session is held, whoever waits for it has none of the others: a deadlock
        // would not be seen, because what it undoes is repeated.
        let holder = try await TestDatabase.current.connection()
        _ = try await holder.execute("BEGIN")
        _ = try await holder.execute(
            """
            SELECT FROM session_progress WHERE outstanding > 0 ORDER BY session_id LIMIT 1
            FOR UPDATE
            """
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            for part in 0..<8 {
                let mine = claims.enumerated().filter { $0.offset % 8 == part }.map(\.element)
                let order = part % 2 == 0 ? mine : mine.reversed()
                group.addTask { try await fixture.end(order, .failed(StoreFixture.failure)) }
            }
            try await fixture.eventuallyWaits(for: holder)
            let free = try await fixture.countOfUnlocked("session_progress WHERE outstanding > 0")
            #expect(free == 7)
            _ = try await holder.execute("COMMIT")
            try await group.waitForAll()
        }
        await holder.close()
        try await fixture.checkInvariants()
    }
}
