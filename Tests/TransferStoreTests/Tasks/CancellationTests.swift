import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// The end of sessions of any size.
@Suite(.postgresSchema, .timeLimit(.minutes(5))) struct CancellationTests {
    /// The number of pages, more than three.
    private static let pagesOfTasks = 4
    private static let share = ClientID(stored: "share")

    private func fixture() async throws -> StoreFixture {
        let fixture = try await StoreFixture()
        _ = try await fixture.stores.clients.putClient(
            tenant: fixture.tenant,
            id: Self.share,
            kind: .app
        )
        return fixture
    }

    /// Makes a session with more tasks than a page has.
    @discardableResult
    private func fill(
        _ fixture: StoreFixture,
        _ identifier: String,
        of client: ClientID = .default,
        kind: Session.Kind? = nil
    ) async throws -> Session {
        let session = try await fixture.putSession(identifier, of: client, kind: kind)
        for _ in 0..<Self.pagesOfTasks {
            try await fixture.submit(900, to: identifier, of: client)
        }
        return session
    }

    private func invalidate(_ fixture: StoreFixture, _ identifier: String) async throws {
        let isEnded = try await fixture.stores.sessions.invalidateSession(
            tenant: fixture.tenant,
            identifier: identifier
        )
        #expect(isEnded)
    }

    /// Returns the most tasks that one transaction has ended.
    private func largestPage(_ fixture: StoreFixture) async throws -> Int64 {
        try await fixture.count(
            """
            SELECT coalesce(max(c), 0) AS count
            FROM (SELECT count(*) AS c FROM outcome GROUP BY xmin::text) o
            """
        )
    }

    private func cancelled(_ fixture: StoreFixture) async throws -> Int64 {
        try await fixture.count("SELECT count(*) AS count FROM outcome WHERE state = 'cancelled'")
    }

    private func count(
        _ fixture: StoreFixture,
        ofOutstanding session: Session
    ) async throws -> Int64 {
        try await fixture.count(
            """
            SELECT outstanding AS count FROM session_progress WHERE session_id = \(session.id.uuid)
            """
        )
    }

    private func ends(_ fixture: StoreFixture, of session: Session) async throws -> Int64 {
        try await fixture.count(
            """
            SELECT count(*) AS count FROM event
            WHERE session_id = \(session.id.uuid) AND kind = 'session.events_finished'
            """
        )
    }

    @Test func aLargeSessionEndsPageByPage() async throws {
        let fixture = try await fixture()
        let session = try await fill(fixture, "large")
        try await invalidate(fixture, "large")
        // The answer waits for one page and not for the rest.
        #expect(try await cancelled(fixture) <= Int64(CancellationStore.cancellationPageMax))
        // No task of the rest starts.
        #expect(try await fixture.claim(100).isEmpty)
        // The first page, and the last, after which there is nothing.
        var pages = 2
        while try await fixture.stores.cancellations.continueCancellations() { pages += 1 }
        #expect(pages == Self.pagesOfTasks)
        #expect(try await cancelled(fixture) == Int64(900 * Self.pagesOfTasks))
        #expect(try await largestPage(fixture) <= Int64(CancellationStore.cancellationPageMax))
        #expect(try await ends(fixture, of: session) == 1)
        #expect(try await fixture.count("SELECT count(*) AS count FROM cancellation") == 0)
        try await fixture.checkInvariants()
    }

    /// A caller that dies between two pages leaves the rest to the next one; two simultaneous
    /// callers do not disturb each other.
    @Test func otherInstancesContinue() async throws {
        let fixture = try await fixture()
        let session = try await fill(fixture, "large")
        try await invalidate(fixture, "large")
        let others = (0..<3).map { _ in
            Stores(Database(pool: TestDatabase.current.pool(), settings: StoreFixture.settings))
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for other in others {
                group.addTask { while try await other.cancellations.continueCancellations() {} }
            }
            try await group.waitForAll()
        }
        while try await fixture.stores.cancellations.continueCancellations() {}
        #expect(try await cancelled(fixture) == Int64(900 * Self.pagesOfTasks))
        #expect(try await ends(fixture, of: session) == 1)
        try await fixture.checkInvariants()
    }

    @Test func nothingOfAnEndedSessionBegins() async throws {
        let fixture = try await fixture()
        let large = try await fill(fixture, "large")
        // The first tasks are cancelled with the answer; these are not.
        try await fixture.submit(2, to: "large") { submission, index in
            submission.earliestBeginAt = Date() + 3600
            submission.options.asksToBegin = index == 0
        }
        let others = try await fixture.submit(2) { submission, index in
            submission.earliestBeginAt = Date() + 3600
            submission.options.asksToBegin = index == 0
        }
        let flow = try #require(
            try await fixture.stores.queue.waitingFlows(in: Set(Shard.all).hostKeys).first
        )
        try await invalidate(fixture, "large")
        // A worker that knew of the tasks before gets none either.
        let grant = FlowGrant(flow: flow.flow, count: 10, from: flow.position)
        let claims = try await fixture.stores.queue.claim(
            [grant],
            fences: fixture.worker.reserve(10)
        )
        #expect(claims.isEmpty)
        let flows = try await fixture.stores.queue.waitingFlows(in: Set(Shard.all).hostKeys)
        #expect(flows.map(\.mayBegin) == [false])
        _ = try await fixture.aside.execute(
            """
            UPDATE delayed SET due_at = now()
                - CASE session_id WHEN \(large.id.uuid) THEN interval '1 h' ELSE interval '0' END
            """
        )
        let promotion = try await fixture.stores.queue.promoteDue()
        #expect(promotion.promoted == 1)
        #expect(promotion.asked == 1)
        #expect(try await fixture.states(others) == [.waitingToBegin, .queued])
        while try await fixture.stores.cancellations.continueCancellations() {}
        let asked: Query = """
            SELECT count(*) AS count FROM event
            WHERE session_id = \(large.id.uuid) AND kind = 'task.will_begin'
            """
        #expect(try await fixture.count(asked) == 0)
        try await fixture.checkInvariants()
    }

    @Test func aSessionThatIsHeldUpHoldsUpNoOther() async throws {
        let fixture = try await fixture()
        let held = try await fill(fixture, "a")
        let other = try await fill(fixture, "b")
        let holder = try await TestDatabase.current.connection()
        _ = try await holder.execute("BEGIN")
        try await invalidate(fixture, "a")
        try await invalidate(fixture, "b")
        _ = try await holder.execute(
            "SELECT 1 FROM session_progress WHERE session_id = \(held.id.uuid) FOR UPDATE"
        )
        // They wait no longer than in service for what is held.
        let stores = Stores(Database(pool: TestDatabase.current.pool()))
        // It is no failure that more of the other session remains.
        while try await stores.cancellations.continueCancellations() {
            if try await count(fixture, ofOutstanding: other) <= 600 { break }
        }
        await #expect(throws: StoreError.self) {
            try await stores.cancellations.continueCancellations()
        }
        #expect(try await ends(fixture, of: other) == 1)
        #expect(try await ends(fixture, of: held) == 0)
        _ = try await holder.execute("ROLLBACK")
        while try await fixture.stores.cancellations.continueCancellations() {}
        #expect(try await ends(fixture, of: held) == 1)
        try await fixture.checkInvariants()
    }

    @Test func aForceQuitOfManyTasksIsDoneInPages() async throws {
        let fixture = try await fixture()
        let session = try await fill(fixture, "large", of: Self.share)
        let quit = try await fixture.stores.clients.forceQuit(
            tenant: fixture.tenant,
            id: Self.share
        )
        #expect(quit?.lifecycle == .forceQuit)
        #expect(try await cancelled(fixture) <= Int64(CancellationStore.cancellationPageMax))
        #expect(try await fixture.claim(100).isEmpty)
        // Tasks that were outstanding do not come back.
        let launched = try await fixture.stores.clients.launch(
            tenant: fixture.tenant,
            id: Self.share
        )
        #expect(launched?.lifecycle == .active)
        #expect(try await cancelled(fixture) == Int64(900 * Self.pagesOfTasks))
        #expect(try await largestPage(fixture) <= Int64(CancellationStore.cancellationPageMax))
        #expect(try await ends(fixture, of: session) == 1)
        let reasons: Query = """
            SELECT count(*) AS count FROM outcome
            WHERE failure->>'code' = \(TransferFailure.Code.userForceQuit.rawValue)
            """
        #expect(try await fixture.count(reasons) == Int64(900 * Self.pagesOfTasks))
        // The sessions take tasks again, and these are not cancelled.
        let ids = try await fixture.submit(1, to: "large", of: Self.share)
        try await fixture.stores.cancellations.continueCancellations()
        #expect(try await fixture.states(ids) == [.queued])
        try await fixture.checkInvariants()
    }

    /// A session is ended after its client was force-quit, before the force-quit was complete.
    @Test func aForceQuitAndAnEndTogetherEndASessionOnce() async throws {
        let fixture = try await fixture()
        let session = try await fill(fixture, "large", of: Self.share)
        _ = try await fixture.stores.clients.forceQuit(tenant: fixture.tenant, id: Self.share)
        let isEnded = try await fixture.stores.sessions.invalidateSession(
            tenant: fixture.tenant,
            client: Self.share,
            identifier: "large"
        )
        #expect(isEnded)
        while try await fixture.stores.cancellations.continueCancellations() {}
        #expect(try await ends(fixture, of: session) == 1)
        #expect(try await fixture.count("SELECT count(*) AS count FROM cancellation") == 0)
        try await fixture.checkInvariants()
    }

    /// It finds the cancellation of an earlier one, whose end sees nothing to do any more.
    @Test func aForceQuitBesideTheEndOfAnEarlierOneIsCarriedOut() async throws {
        let fixture = try await fixture()
        let session = try await fixture.putSession("shared", of: Self.share)
        let ids = try await fixture.submit(3, to: "shared", of: Self.share)
        let earlier: Query = """
            INSERT INTO cancellation (session_id, tenant_id)
            VALUES (\(session.id.uuid), \(fixture.tenant.uuid))
            ON CONFLICT (session_id) DO NOTHING
            """
        _ = try await fixture.aside.execute(earlier)
        let quit = try await TestDatabase.current.connection()
        _ = try await quit.execute("BEGIN")
        _ = try await quit.execute(
            """
            UPDATE session_progress SET is_force_quit = true WHERE session_id = \(session.id.uuid)
            """
        )
        _ = try await quit.execute(earlier)
        async let isMore = fixture.stores.cancellations.continueCancellations()
        try await fixture.eventuallyWaits(for: quit)
        _ = try await quit.execute("COMMIT")
        _ = try await isMore
        await quit.close()
        while try await fixture.stores.cancellations.continueCancellations() {}
        #expect(try await fixture.states(ids) == [.cancelled, .cancelled, .cancelled])
        #expect(try await ends(fixture, of: session) == 1)
        #expect(try await fixture.count("SELECT count(*) AS count FROM cancellation") == 0)
        try await fixture.checkInvariants()
    }

    @Test func aFinishedSessionEndsWithItsLastTask() async throws {
        let fixture = try await fixture()
        let session = try await fixture.putSession("finished")
        try await fixture.submit(3, to: "finished")
        _ = try await fixture.stores.sessions.finishSession(
            tenant: fixture.tenant,
            identifier: "finished"
        )
        // The session is finished and not cancelled.
        #expect(try await !fixture.stores.cancellations.continueCancellations())
        try await fixture.complete(try await fixture.claim())
        #expect(try await !fixture.stores.cancellations.continueCancellations())
        #expect(try await ends(fixture, of: session) == 1)
        #expect(try await cancelled(fixture) == 0)
        #expect(try await fixture.count("SELECT count(*) AS count FROM cancellation") == 0)
        try await fixture.checkInvariants()
    }

    /// A question comes after the counters of its session, but the attempts of other tasks before
    /// them, as when these end.
    @Test func attemptsAreTakenBeforeTheCountersAlsoBesideQuestions() async throws {
        let fixture = try await StoreFixture()
        var ids = try await fixture.submit { submission, _ in
            submission.earliestBeginAt = Date(timeIntervalSinceNow: 3600)
            submission.options.asksToBegin = true
        }
        _ = try await fixture.aside.execute("UPDATE delayed SET due_at = now()")
        _ = try await fixture.stores.queue.promoteDue()
        ids += try await fixture.submit()
        _ = try await fixture.claim()
        #expect(try await fixture.states(ids) == [.waitingToBegin, .running])
        let session = try await fixture.session().id.uuid
        let holder = try await TestDatabase.current.connection()
        _ = try await holder.execute("BEGIN")
        _ = try await holder.execute("SELECT FROM attempt_run FOR UPDATE")
        _ = try await holder.execute("SELECT FROM attempt FOR UPDATE")
        async let ended: Void = invalidate(fixture, StoreFixture.identifier)
        try await fixture.eventuallyWaits(for: holder)
        let free = try await fixture.countOfUnlocked(
            "session_progress WHERE session_id = \(session)"
        )
        #expect(free == 1)
        _ = try await holder.execute("COMMIT")
        await holder.close()
        try await ended
        #expect(try await fixture.states(ids) == [.cancelled, .cancelled])
        try await fixture.checkInvariants()
    }

    /// Tasks that wait for a reached host go back in pages, whatever tasks wait for other hosts.
    @Test func aReachedHostIsReleasedInPages() async throws {
        let fixture = try await fixture()
        let other = HostKey(host: "other.test", port: 443)
        for _ in 0..<3 { try await fixture.submit(900) }
        let others = try await fixture.submit(1) { submission, _ in submission.hostKey = other }
        let claims = try await fixture.claim(3000)
        #expect(claims.count == 2701)
        for part in stride(from: 0, to: claims.count, by: 500) {
            try await fixture.end(
                Array(claims[part..<min(part + 500, claims.count)]),
                .waitForConnectivity(StoreFixture.failure, after: .seconds(3600))
            )
        }
        var pages: [Int] = []
        while true {
            let released = try await fixture.stores.queue.release(hostKeys: [StoreFixture.hostKey])
            if released == 0 { break }
            pages.append(released)
        }
        #expect(pages == [1000, 1000, 700])
        #expect(try await fixture.states(others) == [.waitingForConnectivity])
        #expect(try await fixture.claim(3000).count == 2700)
        try await fixture.checkInvariants()
    }

    /// However many sessions a tenant has ended, the others wait for a page of one and not for all.
    @Test func tenantsTakeTurns() async throws {
        let fixture = try await StoreFixture()
        let other = try await fixture.stores.keys.createAPIKey(
            NewAPIKey(id: "other", secretSHA256: Array(repeating: 0, count: 32), name: "other"),
            tenantName: "other"
        )
        for number in 0..<300 {
            try await fixture.putSession("many-\(number)")
            try await fixture.submit(1, to: "many-\(number)")
        }
        // The last by its identifier, and of three pages.
        let theirs = try await fixture.stores.sessions.putSession(
            tenant: other,
            identifier: "theirs",
            configuration: SessionConfiguration()
        )
        for _ in 0..<3 {
            _ = try await fixture.stores.submissions.submit(
                StoreFixture.submissions(900),
                tenant: other,
                sessionIdentifier: "theirs"
            )
        }
        // The state left by an instance that ended all of them and died.
        _ = try await fixture.aside.execute([
            """
            UPDATE session_progress SET is_invalidated = true
            FROM session s WHERE s.id = session_id
            """,
            "UPDATE session SET invalidated_at = now()",
            """
            INSERT INTO cancellation (session_id, tenant_id) SELECT id, tenant_id FROM session
            """,
        ])
        while try await fixture.stores.cancellations.continueCancellations() {}
        #expect(try await cancelled(fixture) == 3000)
        let id = try #require(theirs.session).id.uuid
        let before: Query = """
            SELECT count(*) AS count FROM outcome o
            WHERE o.session_id <> \(id) AND o.finished_at < (
                SELECT max(x.finished_at) FROM outcome x WHERE x.session_id = \(id))
            """
        #expect(try await fixture.count(before) < 10)
        #expect(try await fixture.count("SELECT count(*) AS count FROM cancellation") == 0)
    }
}
