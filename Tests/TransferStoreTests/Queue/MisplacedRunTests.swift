import Foundation
import Postgres
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferStore

/// Runs with another rank than their tasks have: these were changed while they came into the queue.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct MisplacedRunTests {
    private static let newRank: Int16 = 100
    /// The ranks of other tasks of the session at the host: before, between and after.
    private static let otherRanks: [Int16] = [0, 300, 1000]

    /// Makes five tasks, of which the second and the fourth get another rank while an end puts all
    /// of them back: neither transaction waits for the other.
    private func misplacedTasks(_ fixture: StoreFixture) async throws -> [TaskID] {
        let ids = try await fixture.submit(5)
        let claims = try await fixture.claim()
        try await fixture.submit(Self.otherRanks.count) { submission, index in
            submission.priority = TaskPriority(rank: Self.otherRanks[index])
        }
        let chosen = [ids[1].uuid, ids[3].uuid]
        let change = try await TestDatabase.current.connection()
        _ = try await change.execute("BEGIN")
        _ = try await change.execute(
            "UPDATE task SET priority_rank = \(Self.newRank) WHERE id = ANY (\(chosen))"
        )
        #expect(try await fixture.end(claims, .requeued) == Set(ids))
        _ = try await change.execute("COMMIT")
        await change.close()
        #expect(try await ranks(of: ids, fixture) == [500, 500, 500, 500, 500])
        return ids
    }

    /// Returns the ranks at which tasks are in the queue, in the order of the tasks.
    private func ranks(of ids: [TaskID], _ fixture: StoreFixture) async throws -> [Int16] {
        try await fixture.aside.execute(
            """
            SELECT r.priority_rank FROM ready_run r CROSS JOIN LATERAL unnest(r.task_ids) AS k (id)
            WHERE k.id = ANY (\(ids.map(\.uuid))) ORDER BY k.id
            """
        ).map { try $0.decode("priority_rank", as: Int16.self) }
    }

    private func change(
        _ id: TaskID,
        to rank: Int16,
        _ fixture: StoreFixture
    ) async throws {
        var change = TaskChange()
        change.priority = TaskPriority(rank: rank)
        _ = try await fixture.stores.control.changeTask(tenant: fixture.tenant, id: id, change)
    }

    @Test(arguments: ["cancel", "suspend"])
    func aTaskIsFoundAtTheRankOfItsRun(verb: String) async throws {
        let fixture = try await StoreFixture()
        let ids = try await misplacedTasks(fixture)
        for id in [ids[1], ids[3]] {
            let control = fixture.stores.control
            if verb == "cancel" {
                let task = try await control.cancelTask(tenant: fixture.tenant, id: id)
                #expect(task?.state == .cancelled)
            } else {
                let answer = try await control.suspendTask(tenant: fixture.tenant, id: id)
                guard case .answered(let task) = answer else {
                    Issue.record("\(answer)")
                    continue
                }
                #expect(task.state == .suspended)
                #expect(task.attempt == 1)
            }
        }
        #expect(try await ranks(of: ids, fixture) == [500, 500, 500])
        try await fixture.checkInvariants()
    }

    /// Also to the priority that it has already.
    @Test func aPriorityIsChangedWhateverTheRun() async throws {
        let fixture = try await StoreFixture()
        let ids = try await misplacedTasks(fixture)
        try await change(ids[1], to: 700, fixture)
        try await change(ids[3], to: Self.newRank, fixture)
        try await change(ids[4], to: 500, fixture)
        #expect(try await ranks(of: ids, fixture) == [500, 700, 500, Self.newRank, 500])
        try await fixture.checkInvariants()
    }

    @Test func aSessionEndsWithThem() async throws {
        let fixture = try await StoreFixture()
        let ids = try await misplacedTasks(fixture)
        _ = try await fixture.stores.sessions.invalidateSession(
            tenant: fixture.tenant,
            identifier: StoreFixture.identifier
        )
        #expect(try await fixture.states(ids) == Array(repeating: .cancelled, count: 5))
        #expect(try await fixture.count("SELECT count(*) AS count FROM ready_run") == 0)
        #expect(try await fixture.count("SELECT count(*) AS count FROM cancellation") == 0)
        let ends = try await fixture.count(
            "SELECT count(*) AS count FROM event WHERE kind = 'session.events_finished'"
        )
        #expect(ends == 1)
        try await fixture.checkInvariants()
    }

    @Test func whoeverReadsFindsThem() async throws {
        let fixture = try await StoreFixture()
        let ids = try await misplacedTasks(fixture)
        #expect(try await fixture.task(ids[1]).attempt == 1)
        let page = try #require(
            try await fixture.stores.taskLists.tasks(
                tenant: fixture.tenant,
                sessionIdentifier: StoreFixture.identifier,
                filter: TaskFilter(states: [.queued]),
                after: nil,
                limit: 100
            )
        )
        #expect(page.tasks.count == 5 + Self.otherRanks.count)
        let counts = try await fixture.stores.verification.unequalCounts(
            after: nil,
            limit: 100,
            repairs: false
        )
        #expect(counts.differences.isEmpty)
    }

    /// The change waits for the promotion, and then finds the task no longer where it looks.
    @Test func aPriorityIsChangedBesideAPromotion() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit { submission, _ in
            submission.earliestBeginAt = Date(timeIntervalSinceNow: 3600)
        }[0]
        let promotion = try await TestDatabase.current.connection()
        _ = try await promotion.execute("BEGIN")
        _ = try await promotion.execute(
            """
            WITH gone AS (
                DELETE FROM delayed d WHERE d.task_id = \(id.uuid)
                RETURNING d.task_id, d.host_key, d.session_id, d.priority_rank, d.attempt,
                    d.began_at
            ),
            move_row AS (\(CountStore.recordMoves("""
                SELECT session_id, 'scheduled'::task_state AS from_state,
                    'queued'::task_state AS to_state, 0 AS bytes_received, 0 AS bytes_sent
                FROM gone
                """)))
            \(ReadyRuns.insert("""
                SELECT host_key, session_id, priority_rank, task_id, attempt, began_at FROM gone
                """))
            """
        )
        async let changed: Void = change(id, to: Self.newRank, fixture)
        try await fixture.eventuallyWaits(for: promotion)
        _ = try await promotion.execute("COMMIT")
        try await changed
        await promotion.close()
        #expect(try await ranks(of: [id], fixture) == [Self.newRank])
        try await fixture.checkInvariants()
        _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: id)
        #expect(try await fixture.state(id) == .cancelled)
        try await fixture.checkInvariants()
    }

    /// The plans are made while the tables are almost empty, or for what they hold.
    @Test(arguments: [false, true])
    func lookingForOneReadsARowOfEachRank(isAnalyzed: Bool) async throws {
        let fixture = try await StoreFixture()
        let meter = PageMeter()
        try await meter.holdStatistics()
        let ids = try await misplacedTasks(fixture)
        func suspend(_ id: TaskID, _ stores: Stores) async throws {
            _ = try await stores.control.suspendTask(tenant: fixture.tenant, id: id)
        }
        if !isAnalyzed { _ = try await meter.pages { try await suspend(ids[0], $0) } }
        for rank in Self.otherRanks {
            for _ in 0..<5 {
                try await fixture.submit(1000) { submission, index in
                    submission.priority = TaskPriority(rank: rank)
                    // So that each of the others is a run by itself.
                    submission.autostart = index.isMultiple(of: 2)
                }
            }
        }
        if isAnalyzed {
            try await fixture.aside.executeScript(
                "ANALYZE task, ready_run, held, delayed, asked, attempt, attempt_run, outcome"
            )
        }
        let usual = try await meter.pages { try await suspend(ids[0], $0) }
        let found = try await meter.pages { try await suspend(ids[1], $0) }
        // Each other place and each rank is a look-up of a few pages.
        #expect(found - usual <= 200)
    }
}
