import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// Changes of tasks that have not ended.
@Suite(.postgresSchema) struct ChangeTests {
    private func change(
        _ id: TaskID,
        _ fixture: StoreFixture,
        _ body: (inout TaskChange) -> Void
    ) async throws -> ControlStore.ChangeResult {
        var change = TaskChange()
        body(&change)
        return try await fixture.stores.control.changeTask(tenant: fixture.tenant, id: id, change)
    }

    private func begin(
        _ id: TaskID,
        at date: Date?,
        _ fixture: StoreFixture
    ) async throws -> TransferTask? {
        let result = try await change(id, fixture) { $0.earliestBeginAt = .some(date) }
        guard case .changed(let task) = result else { return nil }
        return task
    }

    @Test func aClientStringIsReplacedAndClearedUntilTheEnd() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit { submission, _ in
            submission.clientString = ClientString("first")
        }[0]
        for text in ["e\u{301}", "\u{E9}", "a\u{0}b", ""] {
            _ = try await change(id, fixture) { $0.clientString = .some(ClientString(text)) }
            #expect(try await fixture.task(id).clientString == ClientString(text))
        }
        // A member that is not named is not cleared.
        _ = try await change(id, fixture) { $0.priority = TaskPriority(0.9) }
        #expect(try await fixture.task(id).clientString == ClientString(""))
        _ = try await change(id, fixture) { $0.clientString = .some(nil) }
        #expect(try await fixture.task(id).clientString == nil)
        _ = try await change(id, fixture) { $0.clientString = .some(ClientString("last")) }
        try await fixture.complete(try await fixture.claim())
        guard
            case .ended(let task) = try await change(
                id,
                fixture,
                { $0.clientString = .some(ClientString("late")) }
            )
        else {
            Issue.record("changed after its end")
            return
        }
        #expect(task.clientString == ClientString("last"))
        // Each event has the value of its time.
        let told = try await fixture.events().compactMap(\.task?.clientString)
        #expect(told == ["first", "last", "last"].map { ClientString($0) })
        guard case .unknownTask = try await change(TaskID(.version7()), fixture, { _ in }) else {
            Issue.record("no such task, and yet changed")
            return
        }
    }

    @Test func anotherTenantChangesNothing() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        let stranger = try await fixture.stores.keys.createAPIKey(
            NewAPIKey(
                id: "stranger",
                secretSHA256: Array(repeating: 0, count: 32),
                name: "stranger"
            ),
            tenantName: "stranger"
        )
        var change = TaskChange()
        change.clientString = .some(ClientString("theirs"))
        guard
            case .unknownTask = try await fixture.stores.control.changeTask(
                tenant: stranger,
                id: id,
                change
            )
        else {
            Issue.record("changed by a stranger")
            return
        }
        #expect(try await fixture.task(id).clientString == nil)
    }

    @Test func aHigherPriorityGoesFirst() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(3)
        _ = try await change(ids[2], fixture) { $0.priority = TaskPriority(1) }
        _ = try await change(ids[0], fixture) { $0.priority = TaskPriority(0) }
        #expect(try await fixture.claim().map(\.task) == [ids[2], ids[1], ids[0]])
        try await fixture.checkInvariants()
    }

    @Test func aNewPriorityOutlivesARetry() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        try await fixture.end(
            try await fixture.claim(),
            .retry(StoreFixture.failure, after: .zero)
        )
        _ = try await change(id, fixture) { $0.priority = TaskPriority(1) }
        let task = try await fixture.task(id)
        #expect(task.state == .waitingForRetry)
        #expect(task.failure == StoreFixture.failure)
        _ = try await fixture.stores.queue.promoteDue()
        let other = try await fixture.submit()[0]
        #expect(try await fixture.claim().map(\.task) == [id, other])
        try await fixture.checkInvariants()
    }

    @Test func theBeginIsMovedBothWays() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        let later = Date(timeIntervalSinceNow: 3600)
        #expect(try await begin(id, at: later, fixture)?.state == .scheduled)
        #expect(try await fixture.claim().isEmpty)
        let latest = Date(timeIntervalSinceNow: 7200)
        let task = try #require(try await begin(id, at: latest, fixture))
        #expect(task.state == .scheduled)
        #expect(abs(try #require(task.waitsUntil).timeIntervalSince(latest)) < 0.001)
        // A past time means now, and so does none.
        #expect(try await begin(id, at: Date(timeIntervalSinceNow: -1), fixture)?.state == .queued)
        #expect(try await begin(id, at: later, fixture)?.state == .scheduled)
        #expect(try await begin(id, at: nil, fixture)?.state == .queued)
        #expect(try await fixture.task(id).earliestBeginAt == nil)
        #expect(try await fixture.claim().map(\.task) == [id])
        try await fixture.checkInvariants()
    }

    @Test func whatHasBegunOrIsSuspendedKeepsItsState() async throws {
        let fixture = try await StoreFixture()
        let later = Date(timeIntervalSinceNow: 3600)
        let running = try await fixture.submit()[0]
        let claim = try await fixture.claim()
        #expect(try await begin(running, at: later, fixture)?.state == .running)
        try await fixture.end(claim, .retry(StoreFixture.failure, after: .seconds(60)))
        let waiting = try #require(try await begin(running, at: nil, fixture))
        #expect(waiting.state == .waitingForRetry)
        #expect(try #require(waiting.waitsUntil) < Date(timeIntervalSinceNow: 120))
        let held = try await fixture.submit { submission, _ in submission.autostart = false }[0]
        #expect(try await begin(held, at: later, fixture)?.state == .suspended)
        _ = try await fixture.stores.control.resumeTask(tenant: fixture.tenant, id: held)
        #expect(try await fixture.state(held) == .scheduled)
        try await fixture.checkInvariants()
    }

    /// The clock of this process is an hour behind: what it takes for the future has come.
    @Test func theClockOfTheDatabaseSaysWhatIsDue() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit { submission, _ in
            submission.earliestBeginAt = Date(timeIntervalSinceNow: 3 * 3600)
        }[0]
        let revision = try await fixture.task(id).revision
        let pool = try await TestDatabase.current.poolAnHourAhead()
        var change = TaskChange()
        change.earliestBeginAt = .some(Date(timeIntervalSinceNow: 1800))
        let result = try await Stores(Database(pool: pool)).control.changeTask(
            tenant: fixture.tenant,
            id: id,
            change
        )
        guard case .changed(let task) = result else {
            Issue.record("not changed: \(result)")
            return
        }
        #expect(task.state == .queued)
        #expect(task.revision == revision + 1)
    }

    @Test func aTaskThatIsMovingIsChangedAllTheSame() async throws {
        let fixture = try await StoreFixture(connectionsMax: 10)
        let later = Date(timeIntervalSinceNow: 3600)
        for _ in 0..<30 {
            let id = try await fixture.submit { submission, _ in
                submission.earliestBeginAt = Date(timeIntervalSinceNow: 3600)
            }[0]
            // Due now, so that a promotion and the change coincide.
            _ = try await fixture.aside.execute("UPDATE delayed SET due_at = now()")
            async let promoted = fixture.stores.queue.promoteDue()
            async let changed = begin(id, at: later, fixture)
            _ = try await (promoted, changed)
            #expect(try await fixture.state(id) == .scheduled)
            _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: id)
        }
        try await fixture.checkInvariants()
    }

    /// A change holds the session and then wants the task: a deadlock would not be seen, because
    /// what it undoes is repeated.
    @Test func aPromotionThatWaitsForASessionHoldsNoTask() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit(2) { submission, number in
            submission.earliestBeginAt = Date(timeIntervalSinceNow: 3600)
            submission.options.asksToBegin = number == 1
        }
        _ = try await fixture.aside.execute("UPDATE delayed SET due_at = now()")
        let holder = try await TestDatabase.current.connection()
        _ = try await holder.execute("BEGIN")
        _ = try await holder.execute("SELECT FROM session_progress FOR UPDATE")
        async let promotion = fixture.stores.queue.promoteDue()
        try await fixture.eventuallyWaits(for: holder)
        #expect(try await fixture.countOfUnlocked("delayed") == 2)
        // Moved while its session is waited for.
        _ = try await holder.execute(
            "UPDATE delayed SET due_at = now() + interval '1 hour' WHERE asks_to_begin"
        )
        _ = try await holder.execute("COMMIT")
        await holder.close()
        let (asked, promoted) = try await (promotion.asked, promotion.promoted)
        #expect(asked == 0)
        #expect(promoted == 1)
        _ = try await fixture.aside.execute("UPDATE delayed SET due_at = now()")
        let second = try await fixture.stores.queue.promoteDue()
        #expect(second.asked == 1)
        try await fixture.checkInvariants()
    }
}
