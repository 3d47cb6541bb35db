import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// Ended tasks that their clients return to the queue.
@Suite(.postgresSchema) struct RetryTests {
    private func retry(
        _ id: TaskID,
        _ fixture: StoreFixture,
        hasBody: Bool = false
    ) async throws -> RetryTaskResult {
        try await fixture.stores.retries.retryTask(
            tenant: fixture.tenant,
            id: id,
            hasBody: hasBody
        )
    }

    private func fail(_ fixture: StoreFixture) async throws {
        try await fixture.end(try await fixture.claim(), .failed(StoreFixture.failure))
    }

    @Test func aFailedTaskRunsAgainAsTheSameTask() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit { submission, _ in
            submission.clientString = ClientString("mine")
            submission.options.attemptsMax = 3
        }[0]
        let first = try await fixture.claim()[0]
        try await fixture.end([first], .failed(StoreFixture.failure))
        guard case .answered(let task) = try await retry(id, fixture) else {
            Issue.record("not retried")
            return
        }
        #expect(task.id == id)
        #expect(task.state == .queued)
        #expect(task.attempt == 0)
        #expect(task.failure == nil)
        #expect(task.finishedAt == nil)
        #expect(task.clientString == ClientString("mine"))
        let second = try await fixture.claim()[0]
        #expect(second.task == id)
        #expect(second.number == 1)
        #expect(second.fence != first.fence)
        #expect(second.options.attemptsMax == 3)
        // The first attempt's worker wakes up too late.
        #expect(try await fixture.end([first], .failed(StoreFixture.failure)).isEmpty)
        try await fixture.fetch([second])
        #expect(try await fixture.state(id) == .completed)
        let attempts = try await fixture.stores.tasks.attempts(tenant: fixture.tenant, task: id)
        #expect(attempts?.map(\.outcome) == [.failed, .completed])
        try await fixture.checkInvariants()
    }

    @Test func aDrainedSessionBeginsAGenerationThatEndsOnce() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(2)
        try await fail(fixture)
        _ = try await retry(ids[0], fixture)
        let progress = try await fixture.session().progress
        #expect(progress.generation == 2)
        #expect(progress.outstanding == 1)
        #expect(progress.failed == 0)
        try await fixture.complete(try await fixture.claim())
        let events = try await fixture.events()
        #expect(
            events.map(\.kind) == [
                .taskCreated, .taskCreated, .taskFailed, .taskFailed, .sessionEventsFinished,
                .taskRetried, .taskDownloadFinished, .taskCompleted, .sessionEventsFinished,
            ]
        )
        #expect(events.map(\.generation) == [1, 1, 1, 1, 1, 2, 2, 2, 2])
        // What was told of the first generation reads the same afterwards.
        let summaries = events.compactMap(\.summary)
        #expect(summaries.map(\.failed) == [2, 0])
        #expect(summaries.map(\.completed) == [0, 1])
        #expect(summaries.map { $0.failedTasks.map(\.id) } == [ids, []])
        try await fixture.checkInvariants()
    }

    @Test func whatWasToldOfAFailureReadsTheSameThoughTheTaskIsRenamed() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit { submission, _ in
            submission.clientString = ClientString("before")
        }[0]
        try await fail(fixture)
        let told = try #require(try await fixture.events().last?.summary)
        #expect(told.failedTasks.map(\.clientString) == [ClientString("before")])
        _ = try await retry(id, fixture)
        var change = TaskChange()
        for text in ["between", "after"] {
            change.clientString = .some(ClientString(text))
            _ = try await fixture.stores.control.changeTask(
                tenant: fixture.tenant,
                id: id,
                change
            )
        }
        #expect(try await fixture.task(id).clientString == ClientString("after"))
        #expect(try await fixture.events().compactMap(\.summary).first == told)
        try await fail(fixture)
        let last = try #require(try await fixture.events().last?.summary)
        #expect(last.failedTasks.map(\.clientString) == [ClientString("after")])
    }

    @Test func inAGenerationThatContinuesTheFailureNoLongerCounts() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        let held = try await fixture.submit { submission, _ in submission.autostart = false }[0]
        try await fail(fixture)
        _ = try await retry(id, fixture)
        let progress = try await fixture.session().progress
        #expect(progress.generation == 1)
        #expect(progress.outstanding == 2)
        #expect(progress.failed == 0)
        try await fixture.complete(try await fixture.claim())
        _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: held)
        let summary = try #require(try await fixture.events().last?.summary)
        #expect(summary.completed == 1)
        #expect(summary.failed == 0)
        #expect(summary.cancelled == 1)
        #expect(summary.failedTasks.isEmpty)
        try await fixture.checkInvariants()
    }

    @Test func aTaskOfAnEarlierGenerationJoinsTheOneThatIsUnderWay() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        try await fail(fixture)
        try await fixture.submit()
        _ = try await retry(id, fixture)
        #expect(try await fixture.session().progress.outstanding == 2)
        try await fail(fixture)
        let summaries = try await fixture.events().compactMap(\.summary)
        #expect(summaries.map(\.failed) == [1, 2])
        #expect(summaries.map(\.failedTasks.count) == [1, 2])
        try await fixture.checkInvariants()
    }

    @Test func aCancelledTaskIsRetriedAndACompletedOneIsNot() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(2) { submission, index in
            if index == 0 { submission.earliestBeginAt = Date(timeIntervalSinceNow: 3600) }
        }
        _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: ids[0])
        try await fixture.complete(try await fixture.claim())
        // Its time has still not come.
        guard case .answered(let task) = try await retry(ids[0], fixture) else {
            Issue.record("not retried")
            return
        }
        #expect(task.state == .scheduled)
        guard case .completed = try await retry(ids[1], fixture) else {
            Issue.record("a completed task was retried")
            return
        }
        #expect(try await fixture.state(ids[1]) == .completed)
        guard case .unknownTask = try await retry(TaskID(.version7()), fixture) else {
            Issue.record("a task was made up")
            return
        }
        try await fixture.checkInvariants()
    }

    @Test func retryingOftenAtTheSameTimeIsRetryingOnce() async throws {
        let fixture = try await StoreFixture(connectionsMax: 10)
        let id = try await fixture.submit()[0]
        try await fail(fixture)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<10 {
                group.addTask {
                    guard case .answered(let task) = try await retry(id, fixture) else {
                        Issue.record("not retried")
                        return
                    }
                    #expect(task.state == .queued)
                }
            }
            try await group.waitForAll()
        }
        #expect(try await fixture.events().count { $0.kind == .taskRetried } == 1)
        try await fixture.checkInvariants()
    }

    @Test func aSessionThatAcceptsNoTasksTakesNoneBack() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(2) { submission, index in
            submission.autostart = index == 0
        }
        try await fail(fixture)
        _ = try await fixture.stores.sessions.finishSession(
            tenant: fixture.tenant,
            identifier: StoreFixture.identifier
        )
        guard case .sessionFinishing = try await retry(ids[0], fixture) else {
            Issue.record("retried in a session that finishes")
            return
        }
        _ = try await fixture.stores.sessions.invalidateSession(
            tenant: fixture.tenant,
            identifier: StoreFixture.identifier
        )
        for id in ids {
            guard case .sessionEnded = try await retry(id, fixture) else {
                Issue.record("retried in a session that has ended")
                return
            }
        }
        #expect(try await fixture.states(ids) == [.failed, .cancelled])
        try await fixture.checkInvariants()
    }

    @Test func aForceQuitClientRetriesNothingBeforeItsLaunch() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        _ = try await fixture.stores.clients.forceQuit(tenant: fixture.tenant, id: .default)
        guard case .clientForceQuit(.default) = try await retry(id, fixture) else {
            Issue.record("retried for a client that was force-quit")
            return
        }
        _ = try await fixture.stores.clients.launch(tenant: fixture.tenant, id: .default)
        _ = try await retry(id, fixture)
        #expect(try await fixture.state(id) == .queued)
        try await fixture.checkInvariants()
    }

    @Test func aRetryCountsAgainstTheQuotaOfItsTenant() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        try await fail(fixture)
        _ = try await fixture.aside.execute("UPDATE tenant SET outstanding_tasks_max = 1")
        try await fixture.submit()
        await #expect(throws: StoreError.self) { _ = try await retry(id, fixture) }
        #expect(try await fixture.state(id) == .failed)
        try await fixture.complete(try await fixture.claim())
        _ = try await retry(id, fixture)
        #expect(try await fixture.state(id) == .queued)
    }

    @Test func theBytesOfAFailureAreResumedOnce() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        let first = try await fixture.claim()[0]
        let partial = try #require(
            StoreFixture.progress(of: id, fence: first.fence).checkpoint
        )
        _ = try await fixture.stores.completions.end([
            AttemptEnd(
                task: id,
                fence: first.fence,
                outcome: .failed(StoreFixture.failure),
                bytesReceived: 600,
                partial: partial
            )
        ])
        #expect(
            try await fixture.stores.parts.keptParts([(id, first.fence)]) == [first.fence]
        )
        _ = try await retry(id, fixture)
        let second = try await fixture.claim()[0]
        #expect(second.partial == partial)
        #expect(second.partial?.sourcePath == nil)
        _ = try await fixture.stores.completions.end([
            AttemptEnd(
                task: id,
                fence: second.fence,
                outcome: .failed(StoreFixture.failure),
                abandoned: first.fence
            )
        ])
        _ = try await retry(id, fixture)
        #expect(try await fixture.claim()[0].partial == nil)
        try await fixture.checkInvariants()
    }

    @Test func aCheckpointSurvivesAFailureThatReportsNoBytes() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        let first = try await fixture.claim()[0]
        try await fixture.stores.parts.recordProgress([
            StoreFixture.progress(of: id, fence: first.fence)
        ])
        try await fixture.end([first], .failed(StoreFixture.failure))
        try await fixture.checkInvariants()
        _ = try await retry(id, fixture)
        #expect(try await fixture.claim()[0].partial?.partFence == first.fence)
        try await fixture.checkInvariants()
    }

    @Test func anUploadIsRetriedWhileItsBodyIsThere() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(2) { submission, _ in
            submission.request = TransferRequest(kind: .upload, upload: .staged)
        }
        _ = try await fixture.stores.control.completeBody(tenant: fixture.tenant, id: ids[0])
        _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: ids[1])
        try await fail(fixture)
        for (id, hasBody) in [(ids[0], false), (ids[1], true)] {
            guard case .bodyGone = try await retry(id, fixture, hasBody: hasBody) else {
                Issue.record("retried without its bytes")
                return
            }
        }
        _ = try await retry(ids[0], fixture, hasBody: true)
        #expect(try await fixture.states(ids) == [.queued, .cancelled])
        try await fixture.checkInvariants()
    }
}
