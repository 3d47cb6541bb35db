import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// The final removal of sessions and subscriptions that have ended.
@Suite(.postgresSchema) struct SessionRetentionTests {
    private static let retention: Duration = .seconds(30 * 24 * 3600)

    /// Makes everything that has happened so far older than the retention period.
    private func age(_ fixture: StoreFixture) async throws {
        _ = try await fixture.aside.execute([
            "UPDATE session SET invalidated_at = invalidated_at - interval '31 days'",
            "UPDATE subscription SET deleted_at = deleted_at - interval '31 days'",
        ])
    }

    private func prune(_ fixture: StoreFixture) async throws -> Int {
        var removed = 0
        var position: SessionID?
        repeat {
            let sweep = try await fixture.stores.retention.pruneSessions(
                endedBefore: Self.retention,
                after: position
            )
            removed += sweep.removed
            position = sweep.position
        } while position != nil
        return removed
    }

    private func rows(_ fixture: StoreFixture, _ tables: [String]) async throws -> [Int64] {
        var counts: [Int64] = []
        for table in tables {
            counts.append(
                try await fixture.count("SELECT count(*) AS count FROM \(identifier: table)")
            )
        }
        return counts
    }

    private func end(_ fixture: StoreFixture, _ identifier: String) async throws {
        let isEnded = try await fixture.stores.sessions.invalidateSession(
            tenant: fixture.tenant,
            identifier: identifier
        )
        #expect(isEnded)
    }

    @Test func anEphemeralSessionEndsWhenNothingHappensToIt() async throws {
        let fixture = try await StoreFixture()
        for name in ["idle", "busy"] {
            try await fixture.putSession(name, kind: .ephemeral)
        }
        let fresh = try await fixture.putSession("fresh", kind: .ephemeral).id
        try await fixture.putSession("lasting")
        try await fixture.submit(1, to: "idle")
        try await fixture.complete(try await fixture.claim())
        try await fixture.submit(1, to: "busy")
        _ = try await fixture.aside.execute([
            "UPDATE session SET created_at = created_at - interval '2 days'",
            """
            UPDATE event_run SET occurred_at = occurred_at - interval '2 days'
            WHERE session_id IN (
                SELECT id FROM session WHERE identifier IN ('idle', 'busy'))
            """,
        ])
        try await fixture.submit(1, to: "fresh")
        let claims = try await fixture.claim()
        try await fixture.complete(claims.filter { $0.session == fresh })
        let early = try await fixture.stores.retention.endIdleSessions(
            idle: .seconds(86_400),
            after: nil,
            notAfter: Date() - 2 * 86_400
        )
        #expect(early.removed == 0)
        let sweep = try await fixture.stores.retention.endIdleSessions(
            idle: .seconds(86_400),
            after: nil
        )
        #expect(sweep.removed == 1)
        let living = try await fixture.stores.sessions.sessions(
            tenant: fixture.tenant,
            after: nil,
            limit: 10
        )
        #expect(
            living.map(\.identifier).sorted()
                == ["busy", "fresh", "lasting", StoreFixture.identifier].sorted()
        )
        try await fixture.checkInvariants()
    }

    @Test func anIdleSessionToWhichSomethingHappensMeanwhileLives() async throws {
        let fixture = try await StoreFixture()
        try await fixture.putSession("idle", kind: .ephemeral)
        _ = try await fixture.aside.execute(
            "UPDATE session SET created_at = created_at - interval '2 days'"
        )
        let writer = try await TestDatabase.current.connection()
        _ = try await writer.execute("BEGIN")
        _ = try await writer.execute(
            "UPDATE session_progress SET last_sequence = last_sequence + 1"
        )
        let retention = fixture.stores.retention
        async let sweep = retention.endIdleSessions(idle: .seconds(86_400), after: nil)
        try await fixture.eventuallyWaits(for: writer)
        _ = try await writer.execute("COMMIT")
        await writer.close()
        #expect(try await sweep.removed == 0)
        _ = try await fixture.session("idle")
    }

    @Test func anEndedSessionGoesWithAllThatHangsOnIt() async throws {
        let fixture = try await StoreFixture()
        try await fixture.subscribe()
        for name in ["old", "busy", "young"] { try await fixture.putSession(name) }
        let old = try await fixture.submit(2, to: "old")
        try await fixture.submit(1, to: "busy")
        try await end(fixture, "old")
        try await end(fixture, "busy")
        try await age(fixture)
        try await end(fixture, "young")
        while try await fixture.stores.counts.foldMoves() > 0 {}
        // A session is kept as long as one of its tasks or events.
        #expect(try await prune(fixture) == 0)
        try await fixture.stores.retention.expire(old)
        while try await fixture.stores.counts.foldMoves() > 0 {}
        #expect(try await prune(fixture) == 0)
        _ = try await fixture.aside.execute([
            """
            DELETE FROM event_run WHERE session_id IN (
                SELECT id FROM session WHERE identifier IN ('old', 'young'))
            """,
            "DELETE FROM expired_task",
        ])
        #expect(try await prune(fixture) == 1)
        let names = try await fixture.aside.execute(
            "SELECT identifier FROM session ORDER BY identifier"
        ).map { try $0.decode("identifier", as: String.self) }
        #expect(names == ["busy", StoreFixture.identifier, "young"])
        let left: Query = """
            SELECT count(*) AS count FROM (
                SELECT session_id FROM session_progress UNION ALL SELECT session_id FROM delivery
                UNION ALL SELECT session_id FROM session_task_count
            ) x WHERE session_id NOT IN (SELECT id FROM session UNION ALL SELECT id FROM tenant)
            """
        #expect(try await fixture.count(left) == 0)
        // The name was free the whole time.
        try await fixture.putSession("old")
        try await fixture.submit(1, to: "old")
    }

    @Test func whoHasNotGotAllOfASessionIsToldWhenItGoes() async throws {
        let fixture = try await StoreFixture()
        let ids = [
            try await fixture.subscribe(), try await fixture.subscribe(session: "a"),
            try await fixture.subscribe(filter: EventFilter(["subscription.*"])),
        ]
        for name in ["a", "b"] {
            try await fixture.putSession(name)
            try await end(fixture, name)
        }
        // A receiver has got all events of one session.
        _ = try await fixture.aside.execute(
            """
            UPDATE delivery SET acknowledged_sequence = 1, due_at = NULL
            WHERE session_id = (SELECT id FROM session WHERE identifier = 'b')
                AND subscription_id = \(ids[0].uuid)
            """
        )
        try await age(fixture)
        _ = try await fixture.aside.execute("DELETE FROM event_run")
        // Their events are in the feed first.
        #expect(try await prune(fixture) == 0)
        while try await fixture.stores.counts.foldMoves() > 0 {}
        #expect(try await prune(fixture) == 2)
        let events = try await fixture.stores.events.events(
            of: SessionID(fixture.tenant.uuid),
            after: 0,
            limit: 10
        )
        #expect(events.map(\.sequence) == [1, 2])
        let lost = events.compactMap(\.expiredEvents)
        #expect(lost.map(\.sessionIdentifier) == ["a", "a"])
        #expect(lost.map(\.sequences) == [1...1, 1...1])
        #expect(Set(lost.map(\.subscription)) == Set(ids[0...1]))
        for (id, count) in zip(ids, [1, 1, 0]) {
            let listed = try await fixture.stores.deliveryLog.logged(
                id,
                .expired,
                of: fixture.tenant
            )
            #expect(listed.count == count)
        }
        let due = try await fixture.claimDeliveries()
        #expect(Set(due.map(\.subscription)) == Set(ids))
        #expect(due.map(\.acknowledgedSequence) == [0, 0, 0])
    }

    @Test func sessionsWithManySubscriptionsGoInSeveralTurns() async throws {
        let fixture = try await StoreFixture()
        for _ in 0..<3 { try await fixture.subscribe() }
        for name in ["a", "b"] {
            try await fixture.putSession(name)
            try await end(fixture, name)
        }
        try await age(fixture)
        _ = try await fixture.aside.execute("DELETE FROM event_run")
        while try await fixture.stores.counts.foldMoves() > 0 {}
        var removed: [Int] = []
        var position: SessionID?
        repeat {
            let sweep = try await fixture.stores.retention.pruneSessions(
                endedBefore: Self.retention,
                after: position,
                subscriptionsMax: 2
            )
            removed.append(sweep.removed)
            position = sweep.position
        } while position != nil
        #expect(removed == [1, 1])
        // Each of them is told once of each session.
        let events = try await fixture.stores.events.events(
            of: SessionID(fixture.tenant.uuid),
            after: 0,
            limit: 10
        )
        let lost = events.compactMap(\.expiredEvents)
        #expect(lost.count == 6)
        let told = Set(lost.map { [$0.subscription.uuid.uuidString, $0.sessionIdentifier ?? ""] })
        #expect(told.count == 6)
    }

    @Test func manySessionsGoInBatches() async throws {
        let fixture = try await StoreFixture()
        _ = try await fixture.aside.execute(
            """
            INSERT INTO session (
                id, tenant_id, identifier, timeout_for_request_ms, timeout_for_resource_ms,
                additional_headers, invalidated_at)
            SELECT gen_random_uuid(), \(fixture.tenant.uuid), 'many', 1, 1, '[]',
                now() - interval '31 days'
            FROM generate_series(1, 250)
            """
        )
        let first = try await fixture.stores.retention.pruneSessions(
            endedBefore: Self.retention,
            after: nil
        )
        #expect(first.removed <= 100)
        #expect(first.position != nil)
        #expect(try await prune(fixture) + first.removed == 250)
        #expect(try await rows(fixture, ["session"]) == [1])
    }

    @Test func aDeletedSubscriptionGoesInBatches() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        let kept = try await fixture.subscribe()
        _ = try await fixture.aside.execute([
            """
            INSERT INTO delivery (subscription_id, session_id, acknowledged_sequence)
            SELECT \(id.uuid), gen_random_uuid(), 0 FROM generate_series(1, 2500)
            """,
            """
            INSERT INTO delivery_log (id, subscription_id, session_id, sequence, state)
            SELECT gen_random_uuid(), \(id.uuid), gen_random_uuid(), 1, 'delivered'
            FROM generate_series(1, 1500)
            """,
            """
            INSERT INTO delivery_attempt (
                delivery_id, number, is_replay, attempted_at, duration_ms)
            SELECT id, 1, false, now(), 1 FROM delivery_log
            """,
        ])
        let isDeleted = try await fixture.stores.subscriptions.deleteSubscription(
            tenant: fixture.tenant,
            id: id
        )
        #expect(isDeleted)
        #expect(
            try await !fixture.stores.retention.pruneSubscriptions(deletedBefore: Self.retention)
        )
        try await age(fixture)
        var calls = 0
        while try await fixture.stores.retention.pruneSubscriptions(deletedBefore: Self.retention) {
            calls += 1
        }
        #expect(calls == 3)
        let tables = ["delivery", "delivery_log", "delivery_attempt", "subscription"]
        #expect(try await rows(fixture, tables) == [0, 0, 0, 1])
        let left = try await fixture.stores.subscriptions.subscription(
            tenant: fixture.tenant,
            id: kept
        )
        #expect(left != nil)
    }

    /// As by a claim, which writes it to another place.
    @Test func aDeliveryThatIsBeingWrittenGoesWithItsSubscription() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        try await fixture.submit()
        _ = try await fixture.stores.subscriptions.deleteSubscription(
            tenant: fixture.tenant,
            id: id
        )
        try await age(fixture)
        #expect(try await rows(fixture, ["delivery"]) == [1])
        let claim = try await TestDatabase.current.connection()
        _ = try await claim.execute("BEGIN")
        _ = try await claim.execute("UPDATE delivery SET due_at = now()")
        async let isFound = fixture.stores.retention.pruneSubscriptions(
            deletedBefore: Self.retention
        )
        try await fixture.eventuallyWaits(for: claim)
        _ = try await claim.execute("COMMIT")
        await claim.close()
        #expect(try await isFound)
        #expect(try await rows(fixture, ["delivery", "subscription"]) == [0, 0])
    }

    /// Nobody would look for the failure, nor for what is logged of it, without the subscription.
    @Test func aTryThatIsBeingRecordedGoesWithItsSubscription() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        try await fixture.submit()
        #expect(try await fixture.stores.ownerRemovals.beginTenantRemoval(named: "test"))
        let record = try await TestDatabase.current.connection()
        let steps: [Query] = [
            "BEGIN",
            """
            SELECT 1 FROM delivery d JOIN subscription b ON b.id = d.subscription_id
            FOR UPDATE OF d FOR NO KEY UPDATE OF b
            """,
            "INSERT INTO failure_streak (subscription_id, failures) VALUES (\(id.uuid), 1)",
            """
            INSERT INTO delivery_log (id, subscription_id, session_id, sequence, state)
            SELECT gen_random_uuid(), d.subscription_id, d.session_id, 1, 'waiting' FROM delivery d
            """,
        ]
        for step in steps { _ = try await record.execute(step) }
        let retention = fixture.stores.retention
        async let isFound = retention.pruneSubscriptions(deletedBefore: Self.retention)
        try await fixture.eventuallyWaits(for: record)
        _ = try await record.execute("COMMIT")
        await record.close()
        #expect(try await isFound)
        while try await retention.pruneSubscriptions(deletedBefore: Self.retention) {}
        let tables = ["delivery", "delivery_log", "failure_streak", "subscription"]
        #expect(try await rows(fixture, tables) == [0, 0, 0, 0])
    }

    /// A writer of events has found the subscription living, and commits when it is gone.
    @Test func aDeliveryForASubscriptionThatIsGoneIsRemoved() async throws {
        let fixture = try await StoreFixture()
        try await fixture.subscribe()
        let session = try await fixture.session().id
        let retention = fixture.stores.retention
        let writer = try await TestDatabase.current.connection()
        _ = try await writer.execute("BEGIN")
        _ = try await writer.execute(
            """
            INSERT INTO delivery (subscription_id, session_id, acknowledged_sequence, due_at)
            SELECT b.id, b.log, b.base, now()
            FROM subscriptions_to(ARRAY[\(session.uuid)::uuid], ARRAY[0::bigint]) b
            """
        )
        #expect(try await fixture.stores.ownerRemovals.beginTenantRemoval(named: "test"))
        while try await retention.pruneSubscriptions(deletedBefore: Self.retention) {}
        _ = try await writer.execute("COMMIT")
        await writer.close()
        #expect(try await rows(fixture, ["delivery", "subscription"]) == [1, 0])
        #expect(try await fixture.claimDeliveries().isEmpty)
        #expect(try await rows(fixture, ["delivery"]) == [0])
    }

    @Test func aDeliveryOfARemovedSessionBecomesIdle() async throws {
        let fixture = try await StoreFixture()
        try await fixture.subscribe()
        try await fixture.submit()
        let claim = try #require(try await fixture.claimDeliveries().first)
        _ = try await fixture.aside.execute("DELETE FROM session_progress")
        let release = try await fixture.stores.deliveries.releaseDelivery(claim)
        guard case .idle = release else {
            Issue.record("\(release)")
            return
        }
        #expect(
            try await fixture.count(
                "SELECT count(*) AS count FROM delivery WHERE due_at IS NULL AND worker IS NULL"
            ) == 1
        )
    }
}
