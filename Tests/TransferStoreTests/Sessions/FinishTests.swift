import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// The behaviour of a session that ends with its last task.
@Suite(.postgresSchema) struct FinishTests {
    private func finish(_ fixture: StoreFixture) async throws -> FinishResult {
        try await fixture.stores.sessions.finishSession(
            tenant: fixture.tenant,
            identifier: StoreFixture.identifier
        )
    }

    private func isFree(_ fixture: StoreFixture) async throws -> Bool {
        try await fixture.stores.sessions.session(
            tenant: fixture.tenant,
            identifier: StoreFixture.identifier
        ) == nil
    }

    private func kinds(_ fixture: StoreFixture, of id: SessionID) async throws -> [SessionEvent
        .Kind]
    {
        try await fixture.stores.events.events(of: id, after: 0, limit: 1000).map(\.kind)
    }

    @Test func anIdleSessionEndsAtOnce() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.session().id
        #expect(try await finish(fixture) == .ended)
        #expect(try await isFree(fixture))
        #expect(try await kinds(fixture, of: id) == [.sessionInvalidated])
        #expect(try await finish(fixture) == .unknownSession)
        try await fixture.putSession()
        try await fixture.submit()
        try await fixture.checkInvariants()
    }

    @Test func endsWithTheLastTaskHoweverThatEnds() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.session().id
        try await fixture.subscribe()
        let tasks = try await fixture.submit(3) { task, number in task.autostart = number > 0 }
        let claims = try await fixture.claim()
        #expect(try await finish(fixture) == .finishing)
        #expect(try await finish(fixture) == .finishing)
        #expect(try await fixture.session().isFinishing)
        let result = try await fixture.stores.submissions.submit(
            StoreFixture.submissions(1),
            tenant: fixture.tenant,
            sessionIdentifier: StoreFixture.identifier
        )
        guard case .sessionFinishing = result else {
            Issue.record("\(result)")
            return
        }
        // It is found and put as before; a suspended task can continue.
        #expect(try await fixture.putSession().isFinishing)
        try await fixture.complete([claims[0]])
        try await fixture.end([claims[1]], .failed(StoreFixture.failure))
        #expect(try await !isFree(fixture))
        _ = try await fixture.stores.control.resumeTask(tenant: fixture.tenant, id: tasks[0])
        try await fixture.complete(try await fixture.claim())
        #expect(try await isFree(fixture))
        #expect(
            try await kinds(fixture, of: id).suffix(3)
                == [.taskCompleted, .sessionEventsFinished, .sessionInvalidated]
        )
        #expect(try await fixture.state(tasks[0]) == .completed)
        // Any later caller does the rest.
        let pending: Query = "SELECT count(*) AS count FROM cancellation"
        #expect(try await fixture.count(pending) == 1)
        try await fixture.stores.cancellations.continueCancellations()
        #expect(try await fixture.count(pending) == 0)
        #expect(try await fixture.claimDeliveries().map(\.session) == [id])
        try await fixture.checkInvariants()
    }

    @Test func cancellingTheLastTaskEndsItToo() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.session().id
        let task = try await fixture.submit()[0]
        #expect(try await finish(fixture) == .finishing)
        _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: task)
        #expect(
            try await kinds(fixture, of: id) == [
                .taskCreated, .taskCancelled, .sessionEventsFinished, .sessionInvalidated,
            ]
        )
        try await fixture.checkInvariants()
    }

    @Test func canStillBeInvalidatedAndEndsOnce() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.session().id
        try await fixture.submit(2)
        #expect(try await finish(fixture) == .finishing)
        let isEnded = try await fixture.stores.sessions.invalidateSession(
            tenant: fixture.tenant,
            identifier: StoreFixture.identifier
        )
        #expect(isEnded)
        let kinds = try await kinds(fixture, of: id)
        #expect(kinds.count { $0 == .sessionInvalidated } == 1)
        #expect(kinds.suffix(2) == [.sessionEventsFinished, .sessionInvalidated])
        try await fixture.checkInvariants()
    }

    @Test func anEphemeralSessionIsHiddenWithItsEnd() async throws {
        let fixture = try await StoreFixture()
        try await fixture.putSession("hidden", kind: .ephemeral)
        let task = try await fixture.submit(1, to: "hidden")[0]
        let result = try await fixture.stores.sessions.finishSession(
            tenant: fixture.tenant,
            identifier: "hidden"
        )
        #expect(result == .finishing)
        try await fixture.complete(try await fixture.claim())
        #expect(try await fixture.stores.tasks.task(tenant: fixture.tenant, id: task) == nil)
        // What its end has left to do needs its rows.
        #expect(try await fixture.stores.erasure.tasksToErase().isEmpty)
        while try await fixture.stores.cancellations.continueCancellations() {}
        #expect(try await fixture.stores.erasure.tasksToErase().map(\.task) == [task])
    }

    /// Ends, submissions and the finish coincide in every order.
    @Test func endsExactlyOnceAndTakesNothingBehindItsEnd() async throws {
        let fixture = try await StoreFixture(connectionsMax: 10)
        for round in 0..<25 {
            let session = try await fixture.putSession()
            try await fixture.submit(4)
            let claims = try await fixture.claim()
            try await fixture.beginRenames(claims)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for claim in claims {
                    group.addTask { try await fixture.end([claim], .completed) }
                }
                group.addTask { _ = try await finish(fixture) }
                group.addTask {
                    _ = try await fixture.stores.submissions.submit(
                        StoreFixture.submissions(1) { task, _ in task.autostart = false },
                        tenant: fixture.tenant,
                        sessionIdentifier: StoreFixture.identifier
                    )
                }
                try await group.waitForAll()
            }
            let left = try await fixture.stores.sessions.session(
                tenant: fixture.tenant,
                identifier: StoreFixture.identifier
            )
            if let left {
                #expect(left.isFinishing, "round \(round)")
                #expect(left.progress.outstanding == 1)
                let page = try await fixture.stores.taskLists.tasks(
                    tenant: fixture.tenant,
                    sessionIdentifier: StoreFixture.identifier,
                    filter: TaskFilter(states: [.suspended]),
                    after: nil,
                    limit: 10
                )
                let task = try #require(page?.tasks.first)
                _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: task.id)
            }
            let kinds = try await kinds(fixture, of: session.id)
            #expect(kinds.count { $0 == .sessionInvalidated } == 1)
            #expect(kinds.last == .sessionInvalidated)
            #expect(try await isFree(fixture))
        }
        try await fixture.checkInvariants()
    }
}
