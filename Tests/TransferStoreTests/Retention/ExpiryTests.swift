import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// The expiry of ended tasks.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct ExpiryTests {
    private static let month: Duration = .seconds(30 * 24 * 3600)

    /// Returns a store for which all tasks have ended too long ago.
    private static func eager() -> Stores {
        var settings = StoreSettings()
        settings.resultRetention = .seconds(-60)
        return Stores(Database(pool: TestDatabase.current.pool(), settings: settings))
    }

    private func remains(
        _ stores: Stores,
        _ fixture: StoreFixture,
        holdMax: Duration = month
    ) async throws -> [TaskRemains] {
        var remains: [TaskRemains] = []
        for session in try await stores.retention.sessionsToExpire(after: nil).sessions {
            var position: TaskID?
            repeat {
                let page = try await stores.retention.tasksToExpire(
                    of: session,
                    after: position,
                    holdMax: holdMax
                )
                remains += page.remains
                position = page.position
            } while position != nil
        }
        return remains
    }

    /// Makes one completed, one failed and one cancelled task, each with a client string.
    private func endedTasks(_ fixture: StoreFixture) async throws -> [TaskID] {
        let ids = try await fixture.submit(3) { submission, index in
            submission.clientString = ClientString("string \(index)")
        }
        let claims = try await fixture.claim(2)
        try await fixture.complete([claims[0]])
        try await fixture.end([claims[1]], .failed(StoreFixture.failure))
        _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: ids[2])
        return ids
    }

    private func told(_ fixture: StoreFixture) async throws -> [String] {
        try await fixture.events().map { event in
            let failed = event.summary?.failedTasks.map {
                "\($0.id) \($0.code) \($0.clientString?.string ?? "-")"
            }
            return
                "\(event.sequence) \(event.kind) \(event.task?.clientString?.string ?? "-") \(failed ?? [])"
        }
    }

    @Test func aTaskGoesAndItsEventsTellTheSameUntilTheyGoToo() async throws {
        let fixture = try await StoreFixture()
        let ids = try await endedTasks(fixture)
        let before = try await told(fixture)
        let session = try await fixture.session()
        let part = try #require(try await fixture.task(ids[0]).part)
        let patient = try await remains(fixture.stores, fixture)
        #expect(patient.isEmpty)
        let eager = Self.eager()
        let found = try await remains(eager, fixture)
        #expect(found.map(\.task) == ids)
        let path = ResultLocation.partPath(of: ids[0], destination: nil, fence: part)
        // What failed or was cancelled has no result.
        #expect(found.map(\.paths) == [[path], [], []])
        // A caller that is stopped before the rows are removed finds them again.
        #expect(try await remains(eager, fixture).count == 3)
        for _ in 0..<2 { try await eager.retention.expire(ids) }
        #expect(try await remains(eager, fixture).isEmpty)
        for id in ids {
            #expect(try await eager.tasks.task(tenant: fixture.tenant, id: id) == nil)
            #expect(try await eager.tasks.isExpired(tenant: fixture.tenant, id: id))
            #expect(try await !eager.tasks.isExpired(tenant: TenantID(UUID()), id: id))
        }
        for table in ["task", "outcome", "task_owner"] as [Query] {
            #expect(try await fixture.count("SELECT count(*) AS count FROM \(table)") == 0)
        }
        #expect(try await eager.tasks.attempts(tenant: fixture.tenant, task: ids[0]) == nil)
        #expect(try await told(fixture) == before)
        #expect(try await fixture.session().progress == session.progress)
        try await fixture.checkInvariants()
        // They stay as long as an event refers to them.
        #expect(try await eager.retention.pruneExpiredTasks(after: nil).removed == 0)
        #expect(try await told(fixture) == before)
        _ = try await fixture.aside.execute("DELETE FROM event_run")
        #expect(try await eager.retention.pruneExpiredTasks(after: nil).removed == 3)
        #expect(try await eager.retention.pruneExpiredTasks(after: nil).position == nil)
        #expect(try await !eager.tasks.isExpired(tenant: fixture.tenant, id: ids[0]))
    }

    @Test func ofAGenerationWhoseEventsAreGoneNothingIsLeft() async throws {
        let fixture = try await StoreFixture()
        let old = try await endedTasks(fixture)
        let sequence = try await fixture.session().progress.lastSequence
        let new = try await endedTasks(fixture)
        let eager = Self.eager()
        try await eager.retention.expire(old + new)
        _ = try await fixture.aside.execute(
            Query.expireEvents(where: "last_sequence <= \(sequence)")
        )
        #expect(try await eager.retention.pruneExpiredTasks(after: nil).removed == 3)
        for id in old { #expect(try await !eager.tasks.isExpired(tenant: fixture.tenant, id: id)) }
        for id in new { #expect(try await eager.tasks.isExpired(tenant: fixture.tenant, id: id)) }
    }

    @Test func ofAGenerationThatIsToldFailuresStayAndOthersADay() async throws {
        let fixture = try await StoreFixture()
        let ids = try await endedTasks(fixture)
        let eager = Self.eager()
        try await eager.retention.expire(ids)
        let last = try await fixture.session().progress.lastSequence
        _ = try await fixture.aside.execute(Query.expireEvents(where: "last_sequence < \(last)"))
        #expect(try await eager.retention.pruneExpiredTasks(after: nil).removed == 0)
        _ = try await fixture.aside.execute("UPDATE expired_task SET finished_at = 'epoch'")
        #expect(try await eager.retention.pruneExpiredTasks(after: nil).removed == 2)
        #expect(try await eager.tasks.isExpired(tenant: fixture.tenant, id: ids[1]))
    }

    @Test func whatTheSessionSaysCounts() async throws {
        let fixture = try await StoreFixture()
        try await fixture.putSession(
            StoreFixture.identifier,
            SessionConfiguration(resultRetention: .seconds(3600))
        )
        let ids = try await endedTasks(fixture)
        let task = try await fixture.task(ids[0])
        let finished = try #require(task.finishedAt)
        #expect(task.expiresAt == finished + 3600)
        #expect(try await remains(Self.eager(), fixture).isEmpty)
        try await fixture.putSession()
        #expect(try await fixture.task(ids[0]).expiresAt == finished + 7 * 24 * 3600)
        #expect(try await remains(Self.eager(), fixture).count == 3)
    }

    @Test func aTaskIsKeptUntilItsGenerationHasEnded() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(2)
        let claims = try await fixture.claim()
        try await fixture.complete([claims[0]])
        let eager = Self.eager()
        #expect(try await remains(eager, fixture).isEmpty)
        // But it is not kept for longer than its own events.
        #expect(try await remains(eager, fixture, holdMax: .seconds(-60)).map(\.task) == [ids[0]])
        try await fixture.complete([claims[1]])
        #expect(try await remains(eager, fixture).map(\.task) == ids)
    }

    @Test func aTaskIsKeptUntilEverySubscriberWasToldOfItsGenerationsEnd() async throws {
        let fixture = try await StoreFixture()
        try await fixture.subscribe()
        let old = try await endedTasks(fixture)
        let sequence = try await fixture.session().progress.lastSequence
        let new = try await endedTasks(fixture)
        let last = try await fixture.session().progress.lastSequence
        let eager = Self.eager()
        #expect(try await remains(eager, fixture).isEmpty)
        let claim = try await fixture.claimDeliveries()[0]
        // All but the end of the first generation.
        for (through, expected) in [(sequence - 1, []), (sequence, old), (last - 1, old)] {
            let standing = try await eager.deliveries.recordDelivered(
                claim,
                through: through,
                status: 204,
                lease: .seconds(600)
            )
            #expect(standing == .current)
            #expect(try await remains(eager, fixture).map(\.task) == expected)
        }
        _ = try await eager.deliveries.recordDelivered(
            claim,
            through: last,
            status: 204,
            lease: .zero
        )
        #expect(try await eager.deliveries.releaseDelivery(claim) != .stale)
        #expect(try await remains(eager, fixture).map(\.task) == old + new)
    }

    @Test func whoStillNeedsAFileOfTheTaskKeepsIt() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        let claim = try await fixture.claim()[0]
        try await fixture.stores.parts.recordProgress([
            StoreFixture.progress(of: id, fence: claim.fence)
        ])
        _ = try await fixture.stores.control.cancelTask(
            tenant: fixture.tenant,
            id: id,
            producing: ResumeDataID(UUID())
        )
        let eager = Self.eager()
        // 1. The worker that has to stop; 2. resume data, until it is too old; 3. its file.
        #expect(try await remains(eager, fixture).isEmpty)
        try await eager.workers.removeRevocations([claim.fence])
        #expect(try await remains(eager, fixture).isEmpty)
        #expect(try await fixture.stores.retention.expireResumeData() == 0)
        #expect(try await eager.retention.expireResumeData() == 1)
        #expect(try await eager.retention.expireResumeData() == 0)
        try await fixture.checkInvariants()
        #expect(try await remains(eager, fixture).isEmpty)
        let parts = try await eager.parts.abandonedParts()
        #expect(parts.map(\.fence) == [claim.fence])
        try await eager.parts.forgetAbandonedParts(parts.map(\.fence))
        #expect(try await remains(eager, fixture).map(\.task) == [id])
        try await eager.retention.expire([id])
        try await fixture.checkInvariants()
    }

    @Test func changedClientStringsAreToldAsTheyWereThen() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit { submission, _ in
            submission.clientString = ClientString("old")
        }[0]
        var change = TaskChange()
        change.clientString = .some(ClientString("new"))
        _ = try await fixture.stores.control.changeTask(tenant: fixture.tenant, id: id, change)
        try await fixture.complete(try await fixture.claim())
        let before = try await told(fixture)
        let eager = Self.eager()
        try await eager.retention.expire([id])
        _ = try await eager.retention.pruneClientStringChanges(after: nil)
        #expect(try await told(fixture) == before)
        #expect(before.contains { $0.contains("old") } && before.contains { $0.contains("new") })
        _ = try await fixture.aside.execute("DELETE FROM event_run")
        _ = try await eager.retention.pruneExpiredTasks(after: nil)
        #expect(try await fixture.count("SELECT count(*) AS count FROM client_string_change") == 0)
    }

    @Test func allIsFoundInBatches() async throws {
        let fixture = try await StoreFixture()
        let count = RetentionStore.expiryTasksMax
        var ids: [TaskID] = []
        for _ in 0..<2 { ids += try await fixture.submit(count / 2 + 1) }
        _ = try await fixture.stores.sessions.invalidateSession(
            tenant: fixture.tenant,
            identifier: StoreFixture.identifier
        )
        while try await fixture.stores.cancellations.continueCancellations() {}
        let eager = Self.eager()
        let found = try await remains(eager, fixture).map(\.task)
        #expect(Set(found) == Set(ids) && found.count == ids.count)
        for start in stride(from: 0, to: found.count, by: count) {
            try await eager.retention.expire(Array(found[start..<min(start + count, found.count)]))
        }
        try await fixture.checkInvariants()
        _ = try await fixture.aside.execute("DELETE FROM event_run")
        let first = try await eager.retention.pruneExpiredTasks(after: nil)
        #expect(first.removed == count)
        #expect(try await eager.retention.pruneExpiredTasks(after: first.position).removed == 2)
    }

    private func copies(of source: TaskID, _ fixture: StoreFixture) async throws -> [TaskID] {
        try await fixture.submit(2) { submission, _ in
            submission.request = TransferRequest(upload: .copy(.result(of: source)))
        }
    }

    @Test func aResultIsKeptUntilItsCopiesHaveEnded() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.submit(2)
        try await fixture.complete(try await fixture.claim(2))
        let copies = try await copies(of: ids[0], fixture)
        let eager = Self.eager()
        // It waits no longer than subscribers are waited for.
        #expect(try await remains(eager, fixture, holdMax: .zero).map(\.task) == ids)
        #expect(try await remains(eager, fixture).map(\.task) == [ids[1]])
        _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: copies[0])
        #expect(try await remains(eager, fixture).map(\.task) == [ids[1]])
        try await fixture.end(fixture.claim(), .answered(StoreFixture.result, body: []))
        let due = try await remains(eager, fixture).map(\.task)
        #expect(due == ids + copies)
        try await eager.retention.expire(due)
        #expect(try await fixture.count("SELECT count(*) AS count FROM result_hold") == 0)
    }

    /// Only the pruner passes over a result that is to be copied.
    @Test func itsOwnerRemovesAResultThatIsToBeCopied() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit(1)[0]
        try await fixture.complete(try await fixture.claim(1))
        _ = try await copies(of: id, fixture)
        let removals = fixture.stores.removals
        guard
            case .removable(let remains, let parts) = try await removals.beginRemoval(
                tenant: fixture.tenant,
                id: id
            )
        else {
            Issue.record("it is kept")
            return
        }
        #expect(try await removals.removeTask(remains, parts: parts))
    }

    /// Gives a task a row in each table that has something of a task.
    private func accompany(_ id: TaskID, _ fixture: StoreFixture) async throws {
        let taken = try await fixture.stores.sessions.reconnect(
            fixture.session().id,
            owner: "the client",
            time: .seconds(3600),
            after: nil,
            limit: 10
        )
        #expect(taken.items.map(\.id) == [id])
        _ = try await fixture.aside.execute([
            """
            INSERT INTO upload_resource (task_id, fence, dialect, url, is_at_origin, body)
            VALUES (\(id.uuid), 1, 'ietf', '\\x00', false, '')
            """,
            """
            INSERT INTO task_mirror (task_id, rank, url_host_key, given_up, is_offline)
            VALUES (\(id.uuid), 0, \(StoreFixture.hostKey.rawValue), 0, false)
            """,
            "INSERT INTO result_hold (task_id, source_task_id) VALUES (\(id.uuid), \(UUID()))",
            "INSERT INTO test_failure (task_id, code) VALUES (\(id.uuid), 'timed_out')",
        ])
        try await fixture.stores.stagedBodies.reserve(1, for: id, of: fixture.tenant)
    }

    private static let companions: [Query] = [
        "task_owner", "upload_resource", "task_mirror", "result_hold", "test_failure",
        "staged_body",
    ]

    private func retry(_ id: TaskID, _ fixture: StoreFixture) async throws {
        let result = try await fixture.stores.retries.retryTask(
            tenant: fixture.tenant,
            id: id,
            hasBody: false
        )
        guard case .answered = result else {
            Issue.record("not retried: \(result)")
            return
        }
    }

    /// The files of a thousand tasks are removed between the look and the removal of the rows.
    @Test(arguments: [nil, TransferState.completed, .failed])
    func aTaskThatIsRetriedMeanwhileStays(endsAgain end: TransferState?) async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        try await accompany(id, fixture)
        try await fixture.end(fixture.claim(), .failed(StoreFixture.failure))
        let eager = Self.eager()
        let found = try await remains(eager, fixture)
        #expect(found.map(\.task) == [id])
        try await retry(id, fixture)
        if end == .completed { try await fixture.complete(fixture.claim()) }
        if end == .failed { try await fixture.end(fixture.claim(), .failed(StoreFixture.failure)) }
        try await eager.retention.expire(
            found.map { (task: $0.task, finishedAt: $0.finishedAt) }
        )
        #expect(try await fixture.state(id) == end ?? .queued)
        for table in Self.companions {
            #expect(try await fixture.count("SELECT count(*) AS count FROM \(table)") == 1)
        }
        #expect(try await fixture.count("SELECT count(*) AS count FROM expired_task") == 0)
        try await fixture.checkInvariants()
        // It expires with its own end, and nothing of it is left.
        guard end != nil else { return }
        let again = try await remains(eager, fixture)
        try await eager.retention.expire(
            again.map { (task: $0.task, finishedAt: $0.finishedAt) }
        )
        let tables: [Query] = ["task", "outcome"]
        for table in tables + Self.companions {
            #expect(try await fixture.count("SELECT count(*) AS count FROM \(table)") == 0)
        }
        try await fixture.checkInvariants()
    }

    @Test func aTaskThatEndsAnewWhileItIsRemovedStays() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.submit()[0]
        try await fixture.end(fixture.claim(), .failed(StoreFixture.failure))
        let removals = fixture.stores.removals
        let begun = try await removals.beginRemoval(tenant: fixture.tenant, id: id)
        guard case .removable(let remains, let parts) = begun else {
            Issue.record("it is kept")
            return
        }
        try await retry(id, fixture)
        try await fixture.complete(fixture.claim())
        #expect(try await !removals.removeTask(remains, parts: parts))
        #expect(try await fixture.state(id) == .completed)
        try await fixture.checkInvariants()
    }
}
