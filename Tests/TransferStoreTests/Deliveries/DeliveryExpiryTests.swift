import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// Events that expire before they are delivered.
@Suite(.postgresSchema) struct DeliveryExpiryTests {
    private static let lease: Duration = .seconds(600)

    /// Lets the events of sessions up to `sequence` expire.
    private func expire(through sequence: Int64, _ fixture: StoreFixture) async throws {
        _ = try await fixture.aside.execute(
            Query.expireEvents(
                where: "last_sequence <= \(sequence) AND session_id IN (SELECT id FROM session)"
            )
        )
    }

    private func record(_ claim: DeliveryClaim, _ fixture: StoreFixture) async throws -> Int64? {
        try await fixture.stores.deliveries.recordExpired(claim, lease: Self.lease)
    }

    /// Returns the events that the tenant was sent, in order; their numbers have no gaps.
    private func told(_ fixture: StoreFixture) async throws -> [SessionEvent.ExpiredEvents] {
        let events = try await fixture.stores.events.events(
            of: SessionID(fixture.tenant.uuid),
            after: 0,
            limit: 1000
        )
        #expect(events.map(\.sequence) == events.indices.map { Int64($0 + 1) })
        #expect(events.allSatisfy { $0.kind == .subscriptionEventsExpired })
        #expect(events.map(\.occurredAt) == events.map(\.occurredAt).sorted())
        return events.compactMap(\.expiredEvents)
    }

    private func makeIdle(_ fixture: StoreFixture) async throws {
        _ = try await fixture.aside.execute("UPDATE delivery SET due_at = NULL, fence = NULL")
    }

    @Test func whatExpiresIsToldOnceAndListed() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        try await fixture.submit(5)
        let stale = try #require(try await fixture.claimDeliveries(lease: .zero).first)
        let claim = try #require(try await fixture.claimDeliveries().first)
        #expect(try await record(claim, fixture) == 0)
        #expect(try await told(fixture).isEmpty)
        try await expire(through: 3, fixture)
        #expect(try await record(stale, fixture) == nil)
        // The second call is that of a caller to whom the first answer was lost.
        for _ in 0..<2 { #expect(try await record(claim, fixture) == 3) }
        let session = try await fixture.session().id
        let lost = SessionEvent.ExpiredEvents(
            subscription: id,
            session: session,
            client: .default,
            sessionIdentifier: StoreFixture.identifier,
            sequences: 1...3
        )
        #expect(try await told(fixture) == [lost])
        let listed = try await fixture.stores.deliveryLog.logged(id, .expired, of: fixture.tenant)
        #expect(listed.count == 1)
        #expect(listed.first?.firstExpired == 1)
        #expect(listed.first?.sequence == 3)
        #expect(listed.first?.event == nil && listed.first?.kind == nil)
        #expect(listed.first?.batch == nil)
        #expect(listed.first?.sessionIdentifier == StoreFixture.identifier)
        #expect(listed.first?.attempts.isEmpty == true)
        // It can be read by itself, and there is nothing to send again.
        let delivery = try #require(listed.first?.id)
        #expect(delivery.uuid.uuidString.dropFirst(14).first == "7")
        let read = try await fixture.stores.deliveryLog.delivery(
            tenant: fixture.tenant,
            id: delivery
        )
        #expect(read?.state == .expired)
        #expect(
            try await fixture.stores.deliveryLog.replay(tenant: fixture.tenant, id: delivery) == nil
        )
        let recovered = try await fixture.stores.deliveryLog.recover(
            tenant: fixture.tenant,
            subscription: id,
            since: .distantPast,
            until: nil
        )
        #expect(recovered == 0)
        let due = try await fixture.claimDeliveries()
        #expect(due.map(\.session) == [SessionID(fixture.tenant.uuid)])
        #expect(due.map(\.acknowledgedSequence) == [0])
        // Then the rest.
        try await expire(through: 5, fixture)
        #expect(try await record(claim, fixture) == 5)
        #expect(try await told(fixture).map(\.sequences) == [1...3, 4...5])
        #expect(
            try await fixture.stores.deliveryLog.logged(id, .expired, of: fixture.tenant).map(
                \.sequence
            ) == [
                5, 3,
            ]
        )
        #expect(try await fixture.stores.deliveries.releaseDelivery(claim) != .stale)
        let idle: Query = "SELECT count(*) AS count FROM delivery WHERE due_at IS NULL"
        #expect(try await fixture.count(idle) == 1)
    }

    @Test func aGapIsToldUpToTheNextEventThatIsKept() async throws {
        let fixture = try await StoreFixture()
        try await fixture.subscribe()
        try await fixture.submit(6)
        _ = try await fixture.aside.execute(
            Query.expireEvents(where: "last_sequence IN (3, 4)")
        )
        let claim = try await fixture.claimDeliveries()[0]
        #expect(try await record(claim, fixture) == 0)
        #expect(
            try await fixture.stores.deliveries.recordDelivered(
                claim,
                through: 2,
                status: 200,
                lease: Self.lease
            ) == .current
        )
        #expect(try await record(claim, fixture) == 4)
        #expect(try await told(fixture).map(\.sequences) == [3...4])
    }

    @Test func manyThatLoseSomethingAtOnceAreToldWithoutGaps() async throws {
        let fixture = try await StoreFixture()
        for _ in 0..<3 { try await fixture.subscribe() }
        for name in ["a", "b", "c", "d", "e"] {
            try await fixture.putSession(name)
            try await fixture.submit(2, to: name)
        }
        try await expire(through: 1, fixture)
        let claims = try await fixture.claimDeliveries()
        #expect(claims.count == 15)
        try await withThrowingTaskGroup(of: Int64?.self) { group in
            for claim in claims { group.addTask { try await record(claim, fixture) } }
            for try await cursor in group { #expect(cursor == 1) }
        }
        #expect(try await told(fixture).count == 15)
        #expect(try await fixture.claimDeliveries().count == 3)
    }

    @Test func onlyWhoMayHaveAskedForItIsTold() async throws {
        let fixture = try await StoreFixture()
        let deaf = try await fixture.subscribe(filter: EventFilter(["subscription.*"]))
        let picky = try await fixture.subscribe(
            filter: EventFilter(["subscription.*", "session.events_finished"])
        )
        let gone = try await fixture.subscribe()
        try await fixture.submit(2)
        try await expire(through: 2, fixture)
        let claims = try await fixture.claimDeliveries()
        _ = try await fixture.stores.subscriptions.deleteSubscription(
            tenant: fixture.tenant,
            id: gone
        )
        // Also the claim of one that was deleted since is good for what it records.
        for claim in claims { #expect(try await record(claim, fixture) == 2) }
        #expect(try await told(fixture).map(\.subscription) == [picky])
        #expect(
            try await fixture.stores.deliveryLog.logged(deaf, .expired, of: fixture.tenant).isEmpty
        )
        #expect(
            try await fixture.stores.deliveryLog.logged(picky, .expired, of: fixture.tenant).count
                == 1
        )
        // Both are told of it.
        let due = try await fixture.claimDeliveries()
        #expect(Set(due.map(\.subscription)) == [deaf, picky])
    }

    @Test func oneForASessionIsToldOfItsOwnAlone() async throws {
        let fixture = try await StoreFixture()
        let own = try await fixture.subscribe(session: StoreFixture.identifier)
        let all = try await fixture.subscribe()
        try await fixture.submit(4)
        try await expire(through: 2, fixture)
        var claims = try await fixture.claimDeliveries()
        let other = try #require(claims.first { $0.subscription == all })
        let claim = try #require(claims.first { $0.subscription == own })
        #expect(claim.isScoped && !other.isScoped)
        #expect(try await record(other, fixture) == 2)
        claims = try await fixture.claimDeliveries()
        #expect(claims.map(\.subscription) == [all])
        #expect(try await record(claim, fixture) == 2)
        let first = try #require(try await fixture.claimDeliveries().first)
        #expect(first.subscription == own)
        #expect(first.session.uuid == fixture.tenant.uuid)
        // Events between two events about the subscription itself are not its own, and so are never
        // lost.
        #expect(first.acknowledgedSequence == 1)
        try await makeIdle(fixture)
        _ = try await fixture.aside.execute(
            """
            UPDATE session_progress SET last_sequence = 40
            WHERE session_id = \(fixture.tenant.uuid)
            """
        )
        try await expire(through: 3, fixture)
        try await fixture.submit(1)
        for claim in try await fixture.claimDeliveries() where claim.subscription == own {
            #expect(try await record(claim, fixture) == 3)
        }
        let again = try #require(try await fixture.claimDeliveries().first { $0.isScoped })
        #expect(again.acknowledgedSequence == 40)
    }

    @Test func theTenantsOwnEventsMakeNoOtherWhenTheyExpire() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        try await fixture.submit(2)
        try await expire(through: 2, fixture)
        let claim = try await fixture.claimDeliveries()[0]
        #expect(try await record(claim, fixture) == 2)
        let log = SessionID(fixture.tenant.uuid)
        _ = try await fixture.aside.execute("DELETE FROM event_run")
        let told = try #require(try await fixture.claimDeliveries().first { $0.session == log })
        #expect(try await record(told, fixture) == 1)
        #expect(try await fixture.stores.events.eventBounds(of: log).newest == 1)
        let listed = try await fixture.stores.deliveryLog.logged(id, .expired, of: fixture.tenant)
        #expect(listed.map(\.sequence) == [1, 2])
        #expect(listed.map(\.sessionIdentifier) == [nil, StoreFixture.identifier])
    }

    @Test func aMessageThatWasTriedKeepsItsTriesAndIsListedAsLongAsAnEvent() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        try await fixture.submit(1)
        #expect(try await fixture.fail(fixture.claimDeliveries()[0]) == .recorded)
        _ = try await fixture.aside.execute("UPDATE delivery_log SET replay_due_at = now()")
        try await expire(through: 1, fixture)
        #expect(try await record(fixture.claimDeliveries()[0], fixture) == 1)
        let listed = try await fixture.stores.deliveryLog.logged(id, .expired, of: fixture.tenant)
        #expect(listed.map(\.attempts.count) == [1])
        #expect(listed.first?.nextAttemptAt == nil)
        #expect(listed.first?.diedAt != nil)
        let month: Duration = .seconds(30 * 24 * 3600)
        // Its identifier is from the time of the first try.
        func prune() async throws -> Int {
            try await fixture.stores.retention.pruneDeliveryLog(olderThan: month, after: nil)
                .removed
        }
        _ = try await fixture.aside.execute(
            """
            WITH old AS (SELECT '018f0000-0000-7000-8000-000000000000'::uuid AS id),
            attempt AS (UPDATE delivery_attempt SET delivery_id = old.id FROM old)
            UPDATE delivery_log SET id = old.id FROM old
            """
        )
        #expect(try await prune() == 0)
        #expect(
            try await fixture.stores.deliveryLog.logged(id, .expired, of: fixture.tenant).map(
                \.attempts.count
            )
                == [1]
        )
        _ = try await fixture.aside.execute(
            "UPDATE delivery_log SET died_at = died_at - interval '31 days'"
        )
        #expect(try await prune() == 1)
    }

    @Test func oneForAClientThatWasForceQuitIsToldAfterTheLaunch() async throws {
        let fixture = try await StoreFixture()
        let stores = fixture.stores
        let id = try await fixture.subscribe(client: .default)
        try await fixture.submit(2)
        try await expire(through: 2, fixture)
        #expect(try await record(fixture.claimDeliveries()[0], fixture) == 2)
        _ = try await stores.clients.forceQuit(tenant: fixture.tenant, id: .default)
        try await fixture.makeDeliveriesDue()
        #expect(try await fixture.claimDeliveries().isEmpty)
        _ = try await stores.clients.launch(tenant: fixture.tenant, id: .default)
        let due = try await fixture.claimDeliveries()
        #expect(due.contains { $0.session.uuid == fixture.tenant.uuid && $0.subscription == id })
    }
}
