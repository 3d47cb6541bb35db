import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// One verb for many tasks of a session.
@Suite(.postgresSchema, .timeLimit(.minutes(5))) struct BulkOperationTests {
    private func begin(
        _ verb: BulkOperation.Verb,
        _ fixture: StoreFixture,
        on states: [TransferState]? = nil
    ) async throws -> RunningBulkOperation {
        let session = try await fixture.session()
        let operation = try await fixture.stores.bulkOperations.beginBulkOperation(
            verb,
            on: states ?? verb.statesDefault,
            of: session,
            tenant: fixture.tenant
        )
        return RunningBulkOperation(operation, of: session, tenant: fixture.tenant)
    }

    /// Carries out all pages that can be carried out now, as a worker does.
    private func advanceAll(_ fixture: StoreFixture, bodies: [TaskID] = []) async throws {
        var isMore = true
        while isMore {
            isMore = false
            for operation in try await fixture.stores.bulkOperations.runningBulkOperations(
                of: fixture.tenant
            )
            where try await fixture.stores.bulkOperations.advanceBulkOperation(
                operation,
                bodies: bodies
            ) {
                isMore = true
            }
        }
    }

    private func operation(
        _ running: RunningBulkOperation,
        _ fixture: StoreFixture
    ) async throws -> BulkOperation {
        try #require(
            try await fixture.stores.bulkOperations.bulkOperation(
                tenant: fixture.tenant,
                id: running.id
            )
        )
    }

    /// Submits more tasks than one submission has.
    @discardableResult
    private func submitMany(_ count: Int, _ fixture: StoreFixture) async throws -> [TaskID] {
        var ids: [TaskID] = []
        while ids.count < count { ids += try await fixture.submit(min(500, count - ids.count)) }
        return ids
    }

    /// Submits tasks that are queued, suspended and scheduled, in turn.
    private func submitInTurn(_ count: Int, _ fixture: StoreFixture) async throws -> [TaskID] {
        try await fixture.submit(count) { submission, index in
            submission.autostart = index % 3 != 1
            if index % 3 == 2 { submission.earliestBeginAt = Date.now + 3600 }
        }
    }

    @Test(arguments: [
        (
            BulkOperation.Verb.resume, [TransferState.suspended],
            [TransferState.queued, .queued, .scheduled], 1
        ),
        (.suspend, [.queued], [.suspended, .suspended, .scheduled], 1),
        (.suspend, [.queued, .scheduled], [.suspended, .suspended, .suspended], 2),
        (.cancel, [.suspended, .scheduled], [.queued, .cancelled, .cancelled], 2),
        (.cancel, BulkOperation.Verb.cancel.states, [.cancelled, .cancelled, .cancelled], 3),
    ])
    func tasksInTheNamedStatesGetTheVerb(
        verb: BulkOperation.Verb,
        states: [TransferState],
        expected: [TransferState],
        changed: Int
    ) async throws {
        let fixture = try await StoreFixture()
        let ids = try await submitInTurn(3, fixture)
        let running = try await begin(verb, fixture, on: states)
        try await advanceAll(fixture)
        #expect(try await fixture.states(ids) == expected)
        let operation = try await operation(running, fixture)
        #expect(operation.state == .completed)
        #expect(operation.matching == Int64(changed))
        #expect(operation.changed == Int64(changed))
        #expect(operation.finishedAt != nil)
        // Each is told as one that was changed alone.
        let told = try await fixture.events().filter {
            [.taskResumed, .taskSuspended, .taskCancelled].contains($0.kind)
        }
        #expect(told.count == changed)
        try await fixture.checkInvariants()
    }

    @Test func manyPagesEndTheSessionOnce() async throws {
        let fixture = try await StoreFixture()
        let ids = try await submitMany(2500, fixture)
        let running = try await begin(.cancel, fixture)
        // Each step is a page.
        var steps = 0
        while let next = try await fixture.stores.bulkOperations
            .runningBulkOperations(of: fixture.tenant).first
        {
            steps += 1
            #expect(
                try await fixture.stores.bulkOperations.advanceBulkOperation(next, bodies: [])
            )
        }
        #expect(steps == 3)
        #expect(try await operation(running, fixture).changed == 2500)
        #expect(try await fixture.states([ids[0], ids[2499]]) == [.cancelled, .cancelled])
        let events = try await fixture.events()
        #expect(events.filter { $0.kind == .sessionEventsFinished }.count == 1)
        #expect(try await fixture.session().progress.cancelled == 2500)
        try await fixture.checkInvariants()
    }

    @Test func laterTasksAreLeftAlone() async throws {
        let fixture = try await StoreFixture()
        let early = try await fixture.submit()
        let running = try await begin(.cancel, fixture)
        let late = try await fixture.submit()
        try await advanceAll(fixture)
        #expect(try await fixture.states(early + late) == [.cancelled, .queued])
        #expect(try await operation(running, fixture).changed == 1)
    }

    @Test func operationsOfASessionTakeTurns() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(2)
        let suspend = try await begin(.suspend, fixture)
        let resume = try await begin(.resume, fixture)
        // The later one does nothing before the earlier one has ended.
        #expect(
            try await !fixture.stores.bulkOperations.advanceBulkOperation(resume, bodies: [])
        )
        #expect(try await operation(resume, fixture).state == .running)
        try await advanceAll(fixture)
        #expect(try await operation(suspend, fixture).changed == 2)
        #expect(try await operation(resume, fixture).changed == 2)
        #expect(try await fixture.states(ids) == [.queued, .queued])
    }

    @Test func twoInstancesCountNoTaskTwice() async throws {
        let fixture = try await StoreFixture()
        try await submitMany(3000, fixture)
        let running = try await begin(.suspend, fixture)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { try await advanceAll(fixture) }
            }
            try await group.waitForAll()
        }
        try await advanceAll(fixture)
        #expect(try await operation(running, fixture).changed == 3000)
        let events = try await fixture.events()
        #expect(events.filter { $0.kind == .taskSuspended }.count == 3000)
        try await fixture.checkInvariants()
    }

    @Test func tasksThatMoveMeanwhileAreFound() async throws {
        let fixture = try await StoreFixture()
        try await submitMany(2000, fixture)
        let running = try await begin(.cancel, fixture)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                // From one table to another, beneath the operation.
                while try await !fixture.claim(50).isEmpty {}
            }
            group.addTask { try await advanceAll(fixture) }
            try await group.waitForAll()
        }
        #expect(try await operation(running, fixture).changed == 2000)
        #expect(try await fixture.session().progress.outstanding == 0)
        try await fixture.checkInvariants()
    }

    @Test func aRunningRequestThatMustNotBeRepeatedIsNotSuspended() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(2) { submission, index in
            if index == 0 { submission.request.method = "POST" }
        }
        _ = try await fixture.claim()
        let running = try await begin(.suspend, fixture)
        try await advanceAll(fixture)
        #expect(try await fixture.states(ids) == [.running, .suspended])
        #expect(try await operation(running, fixture).changed == 1)
        #expect(try await operation(running, fixture).state == .completed)
    }

    @Test func anUploadThatWaitsForItsBytesIsNotResumed() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(2) { submission, index in
            submission.autostart = false
            if index == 0 {
                submission.request = TransferRequest(kind: .upload, upload: .staged)
            }
        }
        _ = try await begin(.resume, fixture)
        try await advanceAll(fixture)
        #expect(try await fixture.states(ids) == [.suspended, .queued])
    }
}

extension BulkOperationTests {
    private func fail(_ fixture: StoreFixture, _ count: Int = 1000) async throws {
        try await fixture.end(try await fixture.claim(count), .failed(StoreFixture.failure))
    }

    @Test func failedTasksAreRetriedUnlessCancelledOnesAreNamed() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(2)
        _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: ids[0])
        try await fail(fixture)
        _ = try await begin(.retry, fixture)
        try await advanceAll(fixture)
        #expect(try await fixture.states(ids) == [.cancelled, .queued])
        try await fail(fixture)
        let both = try await begin(.retry, fixture, on: [.cancelled, .failed])
        // What fails after the request stays failed.
        let late = try await fixture.submit()
        try await fail(fixture)
        try await advanceAll(fixture)
        #expect(try await fixture.states(ids + late) == [.queued, .queued, .failed])
        #expect(try await operation(both, fixture).changed == 2)
        #expect(try await fixture.session().progress.outstanding == 2)
        try await fixture.checkInvariants()
    }

    @Test func manyPagesOfFailedTasksBeginOneGeneration() async throws {
        let fixture = try await StoreFixture()
        try await submitMany(2500, fixture)
        for _ in 0..<3 { try await fail(fixture) }
        let generation = try await fixture.session().progress.generation
        let running = try await begin(.retry, fixture)
        try await advanceAll(fixture)
        #expect(try await operation(running, fixture).changed == 2500)
        let progress = try await fixture.session().progress
        #expect(progress.generation == generation + 1)
        #expect(progress.outstanding == 2500)
        #expect(progress.failed == 0)
        try await fixture.checkInvariants()
    }

    @Test func anUploadIsRetriedIfItsBytesAreStillThere() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(2) { submission, _ in
            submission.request = TransferRequest(kind: .upload, upload: .staged)
        }
        for id in ids {
            _ = try await fixture.stores.control.completeBody(tenant: fixture.tenant, id: id)
        }
        try await fail(fixture)
        let running = try await begin(.retry, fixture)
        let uploads = try await fixture.stores.bulkOperations.stagedUploads(of: running)
        #expect(uploads == ids)
        try await advanceAll(fixture, bodies: [ids[1]])
        #expect(try await fixture.states(ids) == [.failed, .queued])
    }

    @Test func aRetryWaitsForRoomInTheQuota() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(40)
        try await fail(fixture)
        let limits = TenantLimitChanges(outstandingTasksMax: 15)
        _ = try await fixture.stores.tenants.limitTenant(named: "test", changes: limits)
        let running = try await begin(.retry, fixture)
        try await advanceAll(fixture)
        var operation = try await operation(running, fixture)
        #expect(operation.state == .running)
        #expect(operation.reason == .quotaExceeded)
        // As many as there is room for, although a page is larger.
        #expect(operation.changed == 15)
        try await fixture.complete(try await fixture.claim())
        try await advanceAll(fixture)
        try await fixture.complete(try await fixture.claim())
        try await advanceAll(fixture)
        operation = try await self.operation(running, fixture)
        #expect(operation.state == .completed)
        #expect(operation.reason == nil)
        #expect(operation.changed == 40)
        try await fixture.checkInvariants()
    }
}

extension BulkOperationTests {
    @Test func aStoppedOperationChangesNothingMore() async throws {
        let fixture = try await StoreFixture()
        let ids = try await submitMany(1500, fixture)
        let running = try await begin(.cancel, fixture)
        try await fixture.stores.bulkOperations.advanceBulkOperation(running, bodies: [])
        let stopped = try await fixture.stores.bulkOperations.stopBulkOperation(
            tenant: fixture.tenant,
            id: running.id
        )
        #expect(stopped?.state == .stopped)
        #expect(stopped?.reason == .requested)
        #expect(stopped?.changed == 1000)
        try await advanceAll(fixture)
        #expect(try await fixture.states([ids[0], ids[1499]]) == [.cancelled, .queued])
        // The next one does not wait for it.
        let next = try await begin(.cancel, fixture)
        try await advanceAll(fixture)
        #expect(try await operation(next, fixture).changed == 500)
        // One that has ended stays as it is.
        let ended = try await fixture.stores.bulkOperations.stopBulkOperation(
            tenant: fixture.tenant,
            id: next.id
        )
        #expect(ended?.state == .completed)
    }

    @Test func theEndOfTheSessionStopsIt() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(2, to: StoreFixture.identifier) { submission, _ in
            submission.autostart = false
        }
        let running = try await begin(.resume, fixture)
        _ = try await fixture.stores.sessions.invalidateSession(
            tenant: fixture.tenant,
            identifier: StoreFixture.identifier
        )
        try await advanceAll(fixture)
        let operation = try await operation(running, fixture)
        #expect(operation.state == .stopped)
        #expect(operation.reason == .sessionEnded)
        #expect(operation.changed == 0)
    }

    @Test func aFinishingSessionRetriesNothing() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(2)
        try await fixture.end(try await fixture.claim(1), .failed(StoreFixture.failure))
        _ = try await fixture.stores.sessions.finishSession(
            tenant: fixture.tenant,
            identifier: StoreFixture.identifier
        )
        let retry = try await begin(.retry, fixture)
        try await advanceAll(fixture)
        #expect(try await operation(retry, fixture).reason == .sessionFinishing)
        // Its outstanding tasks can be cancelled, which ends it.
        let cancel = try await begin(.cancel, fixture)
        try await advanceAll(fixture)
        #expect(try await operation(cancel, fixture).changed == 1)
        #expect(
            try await fixture.states(ids).sorted { $0.rawValue < $1.rawValue }
                == [.cancelled, .failed]
        )
    }

    @Test func anOperationIsItsTenantsAloneAndIsForgottenAfterItsEnd() async throws {
        let fixture = try await StoreFixture()
        let running = try await begin(.cancel, fixture)
        let stores = fixture.stores.bulkOperations
        let other = try await fixture.stores.keys.createAPIKey(
            NewAPIKey(id: "other", secretSHA256: Array(repeating: 0, count: 32), name: "other"),
            tenantName: "other"
        )
        #expect(try await stores.bulkOperation(tenant: other, id: running.id) == nil)
        #expect(try await stores.stopBulkOperation(tenant: other, id: running.id) == nil)
        #expect(try await stores.pruneBulkOperations(olderThan: .zero) == 0)
        try await advanceAll(fixture)
        #expect(try await stores.pruneBulkOperations() == 0)
        let session = try await fixture.session().id
        let listed = try await stores.bulkOperations(of: session, after: nil, limit: 10)
        #expect(listed.map(\.id) == [running.id])
        #expect(
            try await stores.bulkOperations(of: session, after: running.id, limit: 10).isEmpty
        )
        _ = try await fixture.aside.execute(
            "UPDATE bulk_operation SET finished_at = now() - interval '25 hours'"
        )
        // The other two hours have passed by the database's clock alone.
        #expect(try await stores.pruneBulkOperations(notAfter: Date() - 2 * 3600) == 0)
        #expect(try await stores.pruneBulkOperations() == 1)
        #expect(try await stores.bulkOperation(tenant: fixture.tenant, id: running.id) == nil)
    }
}
