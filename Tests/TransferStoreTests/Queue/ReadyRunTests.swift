import Foundation
import Postgres
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferStore

/// Runs of runnable tasks: how they are made, cut and put together again.
@Suite(.postgresSchema) struct ReadyRunTests {
    private func runs(_ fixture: StoreFixture) async throws -> [Int] {
        let rows = try await fixture.aside.execute(
            """
            SELECT cardinality(task_ids) AS length FROM ready_run
            ORDER BY host_key, session_id, priority_rank, last_task_id
            """
        )
        return try rows.map { Int(try $0.decode("length", as: Int32.self)) }
    }

    /// Claims all that is left, a few at a time, and returns it in the order of the claims.
    private func drain(_ fixture: StoreFixture, by count: Int = 7) async throws -> [TaskID] {
        var tasks: [TaskID] = []
        while true {
            let claims = try await fixture.claim(count)
            if claims.isEmpty { return tasks }
            tasks += claims.map(\.task)
            try await fixture.checkInvariants()
        }
    }

    @Test func aSubmissionToOneHostIsAFewRuns() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(1000)
        #expect(try await runs(fixture) == Array(repeating: 128, count: 7) + [104])
        try await fixture.checkInvariants()
    }

    /// Identifiers of one run differ in their last seven bits alone, wherever they begin.
    @Test func aRunEndsWithABlockOfIdentifiers() async throws {
        let fixture = try await StoreFixture()
        let ids = UUID.consecutiveVersion7(count: 256)[100..<200].map { TaskID($0) }
        let made = try await fixture.submit(100) { submission, index in
            submission = TaskSubmission(
                id: ids[index],
                url: submission.url,
                hostKey: submission.hostKey
            )
        }
        #expect(made == ids)
        #expect(try await runs(fixture).sorted() == [28, 72])
        try await fixture.checkInvariants()
        #expect(try await drain(fixture) == ids)
    }

    @Test func aRunEndsWhereHostPriorityOrStateChange() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(60) { submission, index in
            if index == 10 { submission.hostKey = HostKey(rawValue: 5) }
            if index == 20 { submission.priority = TaskPriority(rank: 100) }
            if index == 30 { submission.autostart = false }
            if index == 40 { submission.earliestBeginAt = Date() + 3600 }
            if index == 50 { submission.earliestBeginAt = Date() - 3600 }
        }
        #expect(try await runs(fixture).sorted() == [1, 1, 1, 9, 9, 9, 9, 9, 10])
        try await fixture.checkInvariants()
        let taken = try await drain(fixture)
        #expect(Set(taken) == Set(ids).subtracting([ids[30], ids[40]]))
    }

    @Test func tasksWithOthersBetweenThemAreNoRun() async throws {
        let fixture = try await StoreFixture()
        // As when several requests are stored by one statement.
        let pieces = StoreFixture.submissions(30).enumerated()
        let even = pieces.filter { $0.offset.isMultiple(of: 2) }.map(\.element)
        let odd = pieces.filter { !$0.offset.isMultiple(of: 2) }.map(\.element)
        for part in [even, odd] {
            _ = try await fixture.stores.submissions.submit(
                part,
                tenant: fixture.tenant,
                sessionIdentifier: StoreFixture.identifier
            )
        }
        #expect(try await runs(fixture) == Array(repeating: 1, count: 30))
        #expect(try await drain(fixture) == pieces.map(\.element.id))
    }

    @Test(arguments: [1, 5, 127, 128, 129, 300, 1000])
    func claimsCutRunsInOrder(count: Int) async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(300)
        let first = try await fixture.claim(count)
        #expect(first.map(\.task) == Array(ids.prefix(count)))
        #expect(Set(first.map(\.fence)).count == first.count)
        try await fixture.checkInvariants()
        #expect(try await first.map(\.task) + drain(fixture, by: max(count, 50)) == ids)
        #expect(try await runs(fixture).isEmpty)
    }

    @Test func aClaimIsNoLargerThanItsGrantWhateverTheRuns() async throws {
        let fixture = try await StoreFixture()
        var ids: [TaskID] = []
        for length in [3, 1, 1, 200, 2, 40] { ids += try await fixture.submit(length) }
        var taken: [TaskID] = []
        for count in [2, 4, 130, 69, 1, 41] {
            let claims = try await fixture.claim(count)
            #expect(claims.count == count)
            taken += claims.map(\.task)
            try await fixture.checkInvariants()
        }
        #expect(taken == ids)
    }

    @Test(arguments: [0, 1, 60, 126, 127])
    func aTaskIsCancelledOutOfARun(place: Int) async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(128)
        let task = try await fixture.stores.control.cancelTask(
            tenant: fixture.tenant,
            id: ids[place]
        )
        #expect(task?.state == .cancelled)
        #expect(try await runs(fixture) == [place, 127 - place].filter { $0 > 0 })
        try await fixture.checkInvariants()
        #expect(try await drain(fixture) == ids.filter { $0 != ids[place] })
    }

    @Test func theOnlyTaskOfARunIsCancelled() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(1)
        _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: ids[0])
        #expect(try await runs(fixture).isEmpty)
        try await fixture.checkInvariants()
    }

    @Test func aTaskComesBackBetweenTheOthersOfItsRun() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(20)
        for index in [3, 4, 10, 19] {
            _ = try await fixture.stores.control.suspendTask(tenant: fixture.tenant, id: ids[index])
        }
        #expect(try await runs(fixture) == [3, 5, 8])
        try await fixture.checkInvariants()
        for index in [10, 4, 3, 19] {
            _ = try await fixture.stores.control.resumeTask(tenant: fixture.tenant, id: ids[index])
        }
        #expect(try await runs(fixture) == [3, 1, 1, 5, 1, 8, 1])
        for id in ids { #expect(try await fixture.state(id) == .queued) }
        #expect(try await drain(fixture, by: 3) == ids)
    }

    @Test func aTaskWithAnotherPriorityLeavesItsRun() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(20)
        var change = TaskChange()
        change.priority = TaskPriority(rank: 100)
        _ = try await fixture.stores.control.changeTask(
            tenant: fixture.tenant,
            id: ids[7],
            change
        )
        #expect(try await runs(fixture).sorted() == [1, 7, 12])
        // What does not concern the queue leaves the runs alone.
        var string = TaskChange()
        string.clientString = .some(ClientString("another"))
        _ = try await fixture.stores.control.changeTask(
            tenant: fixture.tenant,
            id: ids[9],
            string
        )
        #expect(try await runs(fixture).sorted() == [1, 7, 12])
        #expect(try await drain(fixture) == [ids[7]] + ids.filter { $0 != ids[7] })
    }

    @Test func aTaskThatMustWaitLeavesItsRun() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(20)
        var change = TaskChange()
        change.earliestBeginAt = .some(Date() + 3600)
        _ = try await fixture.stores.control.changeTask(
            tenant: fixture.tenant,
            id: ids[19],
            change
        )
        #expect(try await fixture.state(ids[19]) == .scheduled)
        #expect(try await runs(fixture) == [19])
        #expect(try await drain(fixture) == Array(ids.dropLast()))
    }

    @Test func releasedAndRetriedTasksComeBack() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(20)
        let claims = try await fixture.claim(10)
        try await fixture.end(Array(claims[2...3]), .released)
        try await fixture.end([claims[5]], .failed(StoreFixture.failure))
        try await fixture.complete(claims.filter { ![ids[2], ids[3], ids[5]].contains($0.task) })
        _ = try await fixture.stores.retries.retryTask(
            tenant: fixture.tenant,
            id: ids[5],
            hasBody: false
        )
        #expect(try await runs(fixture) == [2, 1, 10])
        #expect(try await drain(fixture) == [ids[2], ids[3], ids[5]] + ids[10...])
    }

    @Test func tasksThatComeBackTogetherAreRunsAgain() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(300) { submission, index in
            submission.earliestBeginAt = Date() + 3600
            if index == 150 { submission.hostKey = HostKey(rawValue: 5) }
            if index == 200 { submission.priority = TaskPriority(rank: 100) }
        }
        #expect(try await runs(fixture) == [])
        _ = try await fixture.stores.control.suspendTask(tenant: fixture.tenant, id: ids[250])
        _ = try await fixture.aside.execute("UPDATE delayed SET due_at = now()")
        #expect(try await fixture.stores.queue.promoteDue().promoted == 299)
        // 150 tasks before the other host, and three times 49 after it; of all of these a run ends
        // with the 128th and the 256th identifier.
        #expect(try await runs(fixture).sorted() == [1, 1, 5, 22, 44, 49, 49, 128])
        try await fixture.checkInvariants()
        let others = ids.indices.filter { ![150, 200, 250].contains($0) }.map { ids[$0] }
        let taken = try await drain(fixture)
        #expect(Set(taken) == Set(ids).subtracting([ids[250]]))
        #expect(taken.filter(Set(others).contains) == others)
    }

    @Test func manyTakeTasksOutOfOneRunAtOnce() async throws {
        let fixture = try await StoreFixture(connectionsMax: 10)
        let ids = try await fixture.submit(128)
        let worker = try await fixture.otherWorker()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, id) in ids.enumerated() where !index.isMultiple(of: 4) {
                group.addTask {
                    let control = fixture.stores.control
                    if index.isMultiple(of: 3) {
                        _ = try await control.suspendTask(tenant: fixture.tenant, id: id)
                    } else {
                        _ = try await control.cancelTask(tenant: fixture.tenant, id: id)
                    }
                }
            }
            group.addTask {
                for _ in 0..<20 { _ = try await fixture.claim(1, by: worker) }
            }
            try await group.waitForAll()
        }
        try await fixture.checkInvariants()
        for (index, id) in ids.enumerated() where !index.isMultiple(of: 4) {
            let state = try await fixture.state(id)
            #expect(state == (index.isMultiple(of: 3) ? .suspended : .cancelled))
        }
    }

    /// Two statements that saw one run as it was before the other would each find it only once.
    @Test(arguments: ["suspend", "cancel", "change"])
    func whoeverTakesATaskOutOfARunWaitsForTheOneBefore(verb: String) async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(20)
        let first = try await TestDatabase.current.connection()
        _ = try await first.execute("BEGIN")
        _ = try await first.execute(ControlStore.lockRuns(of: ids[3]))
        async let changed: Void = Self.carryOut(verb, on: ids[8], fixture)
        try await fixture.eventuallyWaits(for: first)
        #expect(try await runs(fixture) == [20])
        _ = try await first.execute("COMMIT")
        try await changed
        #expect(try await runs(fixture).sorted().suffix(2) == [8, 11])
        await first.close()
    }

    private static func carryOut(
        _ verb: String,
        on id: TaskID,
        _ fixture: StoreFixture
    ) async throws {
        let control = fixture.stores.control
        switch verb {
        case "suspend": _ = try await control.suspendTask(tenant: fixture.tenant, id: id)
        case "cancel": _ = try await control.cancelTask(tenant: fixture.tenant, id: id)
        default:
            var change = TaskChange()
            change.priority = TaskPriority(rank: 100)
            _ = try await control.changeTask(tenant: fixture.tenant, id: id, change)
        }
    }
}
