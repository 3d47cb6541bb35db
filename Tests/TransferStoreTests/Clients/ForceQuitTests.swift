import Foundation
import Postgres
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferStore

/// The tasks that a force-quit ends, those that it leaves unchanged, and those that a launch brings
/// back.
@Suite(.postgresSchema) struct ForceQuitTests {
    private static let share = ClientID(stored: "share")

    private func fixture(connectionsMax: Int = 8) async throws -> StoreFixture {
        let fixture = try await StoreFixture(connectionsMax: connectionsMax)
        _ = try await fixture.stores.clients.putClient(
            tenant: fixture.tenant,
            id: Self.share,
            kind: .app
        )
        try await fixture.putSession(of: Self.share)
        try await fixture.putSession("second", of: Self.share)
        return fixture
    }

    private func quit(_ fixture: StoreFixture) async throws {
        let client = try await fixture.stores.clients.forceQuit(
            tenant: fixture.tenant,
            id: Self.share
        )
        #expect(client?.lifecycle == .forceQuit)
    }

    private func launch(_ fixture: StoreFixture) async throws {
        let client = try await fixture.stores.clients.launch(tenant: fixture.tenant, id: Self.share)
        #expect(client?.lifecycle == .active)
    }

    private func isAccepted(
        _ fixture: StoreFixture,
        _ identifier: String = StoreFixture.identifier
    ) async throws -> Bool {
        let result = try await fixture.stores.submissions.submit(
            StoreFixture.submissions(1),
            tenant: fixture.tenant,
            client: Self.share,
            sessionIdentifier: identifier
        )
        switch result {
        case .accepted: return true
        case .clientForceQuit: return false
        default:
            Issue.record("\(result)")
            return false
        }
    }

    private func pending(_ fixture: StoreFixture) async throws -> Int64 {
        try await fixture.count("SELECT count(*) AS count FROM cancellation")
    }

    @Test func cancelsWhatIsOutstandingAndSaysWhy() async throws {
        let fixture = try await fixture()
        let other = try await fixture.submit(1) { task, _ in task.autostart = false }[0]
        let running = try await fixture.submit(2, of: Self.share)
        let claims = try await fixture.claim()
        #expect(claims.map(\.task) == running)
        try await fixture.beginRenames([claims[1]])
        let waiting = try await fixture.submit(3, to: "second", of: Self.share) { task, number in
            task.autostart = number > 0
            task.earliestBeginAt = number > 1 ? Date() + 3600 : nil
        }
        try await quit(fixture)
        for id in waiting + [running[0]] {
            let task = try await fixture.task(id)
            #expect(task.state == .cancelled)
            #expect(task.failure?.code == .userForceQuit)
        }
        #expect(try await fixture.state(other) == .suspended)
        // Past the point of no return.
        #expect(try await fixture.state(running[1]) == .running)
        #expect(try await pending(fixture) == 1)
        try await fixture.end([claims[1]], .completed)
        try await fixture.stores.cancellations.continueCancellations()
        #expect(try await pending(fixture) == 0)
        let events = try await fixture.events("second", of: Self.share)
        #expect(
            events.filter { $0.kind == .taskCancelled }.map { $0.task?.failure?.code }
                == Array(repeating: .userForceQuit, count: 3)
        )
        #expect(events.map(\.kind).last == .sessionEventsFinished)
        try await fixture.checkInvariants()
    }

    @Test func cancelsInBatchesAndGoesOnAfterACrash() async throws {
        let fixture = try await fixture()
        for _ in 0..<3 { try await fixture.submit(900, of: Self.share) }
        // The state left by the first transaction.
        _ = try await fixture.aside.execute(
            "UPDATE client SET lifecycle = 'force_quit' WHERE identifier = \(Self.share.name)"
        )
        _ = try await fixture.aside.execute(
            """
            INSERT INTO cancellation (session_id, tenant_id)
            SELECT id, tenant_id FROM session WHERE client = \(Self.share.name)
            """
        )
        _ = try await fixture.aside.execute(
            """
            UPDATE session_progress SET is_force_quit = true
            FROM session s WHERE s.id = session_id AND s.client = \(Self.share.name)
            """
        )
        while try await fixture.stores.cancellations.continueCancellations() {}
        let progress = try await fixture.session(of: Self.share).progress
        #expect(progress.outstanding == 0)
        #expect(progress.cancelled == 2700)
        #expect(try await pending(fixture) == 0)
        try await fixture.checkInvariants()
    }

    @Test func takesNothingBeforeTheLaunch() async throws {
        let fixture = try await fixture()
        try await quit(fixture)
        #expect(try await !isAccepted(fixture))
        try await fixture.putSession("new", of: Self.share)
        #expect(try await !isAccepted(fixture, "new"))
        try await fixture.submit()
        try await quit(fixture)
        let background = try await fixture.stores.clients.enterBackground(
            tenant: fixture.tenant,
            id: Self.share
        )
        #expect(background?.lifecycle == .forceQuit)
        try await launch(fixture)
        #expect(try await isAccepted(fixture))
        #expect(try await isAccepted(fixture, "new"))
        // An instance that is late with the force-quit does not end later tasks.
        _ = try await fixture.aside.execute(
            """
            INSERT INTO cancellation (session_id, tenant_id)
            SELECT id, tenant_id FROM session WHERE client = \(Self.share.name)
            ON CONFLICT (session_id) DO NOTHING
            """
        )
        try await fixture.stores.cancellations.continueCancellations()
        #expect(try await pending(fixture) == 0)
        #expect(try await fixture.session(of: Self.share).progress.outstanding == 1)
        try await fixture.checkInvariants()
    }

    @Test func nothingSlipsPast() async throws {
        let fixture = try await fixture(connectionsMax: 10)
        for _ in 0..<30 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<6 {
                    let name = number % 2 == 0 ? StoreFixture.identifier : "second"
                    group.addTask { _ = try await isAccepted(fixture, name) }
                }
                group.addTask { try await quit(fixture) }
                try await group.waitForAll()
            }
            for name in [StoreFixture.identifier, "second"] {
                let session = try await fixture.session(name, of: Self.share)
                #expect(session.progress.outstanding == 0)
            }
            try await launch(fixture)
        }
        try await fixture.checkInvariants()
    }

    @Test func aSessionMadeMeanwhileIsForceQuitToo() async throws {
        let fixture = try await fixture(connectionsMax: 10)
        for round in 0..<30 {
            let name = "round-\(round)"
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await fixture.putSession(name, of: Self.share) }
                group.addTask { try await quit(fixture) }
                try await group.waitForAll()
            }
            #expect(try await !isAccepted(fixture, name))
            try await launch(fixture)
        }
    }

    @Test func nothingIsDeliveredBeforeTheLaunch() async throws {
        let fixture = try await fixture()
        try await fixture.subscribe()
        try await fixture.submit(1, of: Self.share)
        let taken = try #require(try await fixture.claimDeliveries().first)
        try await quit(fixture)
        // An instance that was delivering has lost its claim, and writes nothing.
        #expect(
            try await fixture.stores.deliveries.recordDelivered(
                taken,
                through: 1,
                status: 204,
                lease: .seconds(60)
            ) == .stale
        )
        #expect(try await fixture.claimDeliveries().isEmpty)
        try await fixture.makeDeliveriesDue()
        #expect(try await fixture.claimDeliveries().isEmpty)
        // Set to wait: no later claim visits it.
        let due: Query = "SELECT count(*) AS count FROM delivery WHERE due_at <= now()"
        #expect(try await fixture.count(due) == 0)
        // The other client is told as before.
        try await fixture.submit()
        let told = try await fixture.claimDeliveries()
        #expect(told.map(\.session) == [try await fixture.session().id])
        try await launch(fixture)
        let claims = try await fixture.claimDeliveries()
        #expect(claims.map(\.acknowledgedSequence) == [0, 0])
        #expect(
            Set(claims.map(\.session)) == [
                try await fixture.session(of: Self.share).id, try await log(fixture),
            ]
        )
    }

    /// Sessions are kept long after their end, with what is still to be delivered of them.
    @Test func theEventsOfManyEndedSessionsFollowInPages() async throws {
        let fixture = try await fixture()
        let subscription = try await fixture.subscribe()
        let client = try #require(try await log(fixture)).uuid
        _ = try await fixture.aside.execute(
            """
            INSERT INTO session (
                id, tenant_id, client, identifier, timeout_for_request_ms, timeout_for_resource_ms,
                additional_headers, invalidated_at)
            SELECT ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid,
                \(fixture.tenant.uuid), \(Self.share.name), 'ended', 60000, 60000, '[]', now()
            FROM generate_series(1, \(Int64(2 * ResumptionStore.resumedMax + 1))) AS n
            """
        )
        _ = try await fixture.aside.execute(
            """
            INSERT INTO session_progress (session_id, is_invalidated)
            SELECT id, true FROM session WHERE identifier = 'ended'
            """
        )
        _ = try await fixture.aside.execute(
            """
            INSERT INTO delivery (subscription_id, session_id, acknowledged_sequence, due_at)
            SELECT \(subscription.uuid), id, 0, now() FROM session WHERE identifier = 'ended'
            ORDER BY id LIMIT 1
            """
        )
        try await quit(fixture)
        let marked: Query = """
            SELECT count(*) AS count FROM session_progress WHERE is_invalidated AND is_force_quit
            """
        #expect(try await fixture.count(marked) == 0)
        #expect(try await fixture.claimDeliveries().isEmpty)
        try await launch(fixture)
        let left: Query = """
            SELECT count(*) AS count FROM client_resumption WHERE client_id = \(client)
            """
        #expect(try await fixture.count(left) == 1)
        while try await fixture.stores.resumptions.resumeDeliveries() {}
        #expect(try await fixture.count(left) == 0)
        let told = try await fixture.claimDeliveries().map(\.session.uuid)
        #expect(told.contains { $0.uuidString.hasSuffix("000000000001") })
    }

    /// What a launched client has failed to take keeps its schedule, however late a page comes.
    @Test func aPageLeavesWhatWasTriedSinceTheLaunch() async throws {
        let fixture = try await fixture()
        try await fixture.subscribe()
        try await fixture.submit(1, of: Self.share)
        try await quit(fixture)
        #expect(try await fixture.claimDeliveries().isEmpty)
        try await launch(fixture)
        let claims = try await fixture.claimDeliveries()
        for claim in claims { _ = try await fixture.fail(claim, retryAfter: .seconds(300)) }
        _ = try await fixture.aside.execute(
            """
            INSERT INTO client_resumption (client_id, tenant_id, launched_at, resumed_before)
            SELECT id, tenant_id, lifecycle_changed_at, 'ffffffff-ffff-ffff-ffff-ffffffffffff'
            FROM client WHERE identifier = \(Self.share.name)
            """
        )
        while try await fixture.stores.resumptions.resumeDeliveries() {}
        let due: Query = "SELECT count(*) AS count FROM delivery WHERE due_at <= now()"
        #expect(try await fixture.count(due) == 0)
    }

    @Test func aTerminatedClientIsToldAndGoesOn() async throws {
        let fixture = try await fixture()
        try await fixture.subscribe()
        let id = try await fixture.submit(1, of: Self.share)[0]
        _ = try await fixture.aside.execute("UPDATE client SET lifecycle = 'terminated'")
        #expect(try await fixture.claimDeliveries().count == 1)
        #expect(try await fixture.claim().map(\.task) == [id])
        #expect(try await isAccepted(fixture))
    }

    /// A client that starts again every minute does not use up the tries of a message.
    @Test func aLaunchWithoutAForceQuitKeepsToTheSchedule() async throws {
        let fixture = try await fixture()
        try await fixture.subscribe()
        try await fixture.submit(1, of: Self.share)
        let claim = try #require(try await fixture.claimDeliveries().first)
        _ = try await fixture.fail(claim, retryAfter: .seconds(300))
        try await launch(fixture)
        _ = try await fixture.aside.execute("UPDATE client SET lifecycle = 'terminated'")
        try await launch(fixture)
        let claims = try await fixture.claimDeliveries()
        #expect(claims.map(\.session) == [try await log(fixture)])
    }

    /// Returns the client's own log.
    private func log(_ fixture: StoreFixture) async throws -> SessionID? {
        try await fixture.stores.clients.client(tenant: fixture.tenant, id: Self.share)?.log
    }

    @Test func launchesAtTheSameTimeTellOnce() async throws {
        let fixture = try await fixture()
        try await fixture.submit(1, of: Self.share) { submission, _ in
            submission.earliestBeginAt = Date().addingTimeInterval(3600)
            submission.options.asksToBegin = true
        }
        _ = try await fixture.aside.execute("UPDATE delayed SET due_at = now()")
        _ = try await fixture.stores.queue.promoteDue()
        for round in 1...10 {
            _ = try await fixture.aside.execute("UPDATE client SET lifecycle = 'suspended'")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 { group.addTask { try await launch(fixture) } }
                try await group.waitForAll()
            }
            let told = try await fixture.events(of: Self.share).count {
                $0.kind == .sessionEventsPending
            }
            #expect(told == round + 1)
        }
        try await fixture.checkInvariants()
    }

    @Test func nothingIsLeftWaitingWhenAClaimMeetsTheLaunch() async throws {
        let fixture = try await fixture(connectionsMax: 8)
        try await fixture.subscribe()
        for number in 0..<20 {
            try await fixture.putSession("session-\(number)", of: Self.share)
            try await fixture.submit(1, to: "session-\(number)", of: Self.share)
        }
        for _ in 0..<30 {
            try await quit(fixture)
            try await fixture.makeDeliveriesDue()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<3 {
                    group.addTask { _ = try await fixture.claimDeliveries(5, lease: .zero) }
                }
                group.addTask { try await launch(fixture) }
                try await group.waitForAll()
            }
            let waiting: Query = """
                SELECT count(*) AS count FROM delivery
                WHERE fence IS NULL AND due_at > now() + interval '1 minute'
                """
            #expect(try await fixture.count(waiting) == 0)
        }
    }

    /// A launch that has looked at the client before another launch and another force-quit.
    @Test func aLaunchDoesNotTakeALaterForceQuitForTheEarlierOne() async throws {
        let fixture = try await fixture()
        let clients = fixture.stores.clients
        try await quit(fixture)
        let before = try #require(
            try await clients.client(tenant: fixture.tenant, id: Self.share)
        )
        try await launch(fixture)
        try await quit(fixture)
        #expect(try await clients.launch(before, fixture.tenant) == nil)
        let after = try await clients.client(tenant: fixture.tenant, id: Self.share)
        #expect(after?.lifecycle == .forceQuit)
    }
}
