import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@Suite(.postgresSchema) struct DeliveryLogStoreTests {
    private static let lease: Duration = .seconds(600)

    private func log(
        _ fixture: StoreFixture,
        _ subscription: SubscriptionID,
        _ state: LoggedDelivery.State? = nil
    ) async throws -> [LoggedDelivery] {
        try #require(
            try await fixture.stores.deliveryLog.deliveries(
                tenant: fixture.tenant,
                subscription: subscription,
                state: state,
                before: nil,
                limit: 100
            )?.items
        )
    }

    /// Gives up the next message of every due delivery.
    private func giveUp(_ fixture: StoreFixture) async throws {
        for claim in try await fixture.claimDeliveries() {
            _ = try await fixture.fail(claim, retryAfter: nil)
        }
    }

    @Test func everyTryOfAMessageThatWasNotTakenAtOnceIsKept() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        try await fixture.submit()
        for _ in 0..<2 {
            let claim = try await fixture.claimDeliveries()[0]
            _ = try await fixture.fail(claim)
        }
        let waiting = try #require(try await log(fixture, id).first)
        #expect(waiting.state == .waiting)
        #expect(waiting.nextAttemptAt != nil)
        let claim = try await fixture.claimDeliveries()[0]
        #expect(
            try await fixture.stores.deliveries.recordDelivered(
                claim,
                through: 1,
                status: 200,
                attempt: StoreFixture.attempt(status: 200, reason: nil),
                lease: Self.lease
            ) == .current
        )
        let delivered = try #require(try await log(fixture, id, .delivered).first)
        #expect(delivered.id == waiting.id)
        #expect(delivered.attempts.map(\.status) == [500, 500, 200])
        #expect(delivered.attempts.map(\.reason) == ["http_status", "http_status", nil])
        #expect(
            delivered.attempts.first == StoreFixture.attempt(status: 500, reason: "http_status")
        )
        #expect(delivered.kind == .taskCreated)
        #expect(delivered.sessionIdentifier == StoreFixture.identifier)
        #expect(delivered.nextAttemptAt == nil)
        #expect(delivered.diedAt == nil)
        #expect(try await log(fixture, id, .waiting).isEmpty)
    }

    @Test func aMessageThatIsGivenUpLetsTheNextPass() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        try await fixture.submit(2)
        try await giveUp(fixture)
        let dead = try #require(try await log(fixture, id, .dead).first)
        #expect(dead.sequence == 1)
        #expect(dead.diedAt != nil)
        let next = try await fixture.claimDeliveries()[0]
        #expect(next.acknowledgedSequence == 1)
        #expect(next.attempt == 0)
    }

    @Test func onlyTheNewestTriesAreKept() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        try await fixture.submit()
        try await giveUp(fixture)
        let delivery = try await log(fixture, id)[0].id
        for status in 1...30 {
            _ = try await fixture.stores.deliveryLog.replay(tenant: fixture.tenant, id: delivery)
            let claim = try await fixture.claimReplays()[0]
            let attempt = StoreFixture.attempt(status: status, reason: "x", isReplay: true)
            #expect(try await fixture.stores.deliveryLog.recordReplayed(claim, attempt))
        }
        let attempts = try await log(fixture, id)[0].attempts
        #expect(attempts.map(\.status) == (11...30).map { $0 })
    }

    @Test func aReplayTouchesNothingButTheLog() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        try await fixture.submit(2)
        try await giveUp(fixture)
        let dead = try await log(fixture, id)[0]
        let before = try await fixture.healthAndOrder()
        let stores = fixture.stores
        var change = SubscriptionChange()
        change.isEnabled = false
        _ = try await stores.subscriptions.changeSubscription(
            tenant: fixture.tenant,
            id: id,
            change
        )
        #expect(
            try await stores.deliveryLog.replay(tenant: fixture.tenant, id: dead.id)?.id == dead.id
        )
        let refused = try #require(try await fixture.claimReplays(lease: .zero).first)
        #expect(refused.sequence == 1)
        // An expired lease lets another instance send it, and the first can record nothing more.
        let claim = try #require(try await fixture.claimReplays().first)
        let failed = StoreFixture.attempt(status: 500, reason: "http_status", isReplay: true)
        #expect(try await !stores.deliveryLog.recordReplayed(refused, failed))
        #expect(try await stores.deliveryLog.recordReplayed(claim, failed))
        #expect(try await log(fixture, id)[0].state == .dead)
        #expect(try await fixture.claimReplays().isEmpty)
        _ = try await stores.deliveryLog.replay(tenant: fixture.tenant, id: dead.id)
        let again = try #require(try await fixture.claimReplays().first)
        let taken = StoreFixture.attempt(status: 200, reason: nil, isReplay: true)
        #expect(try await stores.deliveryLog.recordReplayed(again, taken))
        let delivery = try await log(fixture, id)[0]
        #expect(delivery.state == .delivered)
        #expect(delivery.diedAt == dead.diedAt)
        #expect(delivery.attempts.map(\.isReplay) == [false, true, true])
        #expect(try await fixture.healthAndOrder() == before)
    }

    @Test func aRecoveryReplaysWhatDiedInItsTimeInOrder() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        let other = try await fixture.subscribe()
        try await fixture.submit(6)
        for _ in 0..<6 { try await giveUp(fixture) }
        _ = try await fixture.aside.execute(
            """
            UPDATE delivery_log
            SET died_at = timestamptz '2026-01-01 00:00Z' + sequence * interval '1 h'
            """
        )
        func at(_ hour: Double) -> Date {
            Date(timeIntervalSince1970: 1_767_225_600 + hour * 3600)
        }
        let stores = fixture.stores
        let tenant = fixture.tenant
        let count = try await stores.deliveryLog.recover(
            tenant: tenant,
            subscription: id,
            since: at(2),
            until: at(5)
        )
        #expect(count == 3)
        let claims = try await fixture.claimReplays()
        #expect(claims.map(\.sequence) == [2, 3, 4])
        #expect(Set(claims.map(\.subscription)) == [id])
        // A delivery that is already being replayed is not counted twice.
        let rest = try await stores.deliveryLog.recover(
            tenant: tenant,
            subscription: id,
            since: at(0),
            until: nil
        )
        #expect(rest == 3)
        #expect(try await stores.deliveryLog.cancelReplays(of: id) == 6)
        #expect(try await stores.deliveryLog.cancelReplays(of: id) == 0)
        #expect(try await fixture.claimReplays().isEmpty)
        #expect(try await log(fixture, id, .dead).count == 6)
        let unknown = SubscriptionID(UUID())
        let none = try await stores.deliveryLog.recover(
            tenant: tenant,
            subscription: unknown,
            since: at(0),
            until: nil
        )
        #expect(none == nil)
        #expect(try await log(fixture, other, .dead).count == 6)
    }
}

extension DeliveryLogStoreTests {
    /// Schedules all dead messages of a subscription to be sent again.
    private func recover(_ id: SubscriptionID, _ fixture: StoreFixture) async throws {
        _ = try await fixture.stores.deliveryLog.recover(
            tenant: fixture.tenant,
            subscription: id,
            since: .distantPast,
            until: nil
        )
    }

    @Test func aRecoveryBeginsWithWhatFailedFirstAndKeepsTheOrderOfSessions() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        try await fixture.putSession("other")
        try await fixture.submit(2)
        try await fixture.submit(2, to: "other")
        for _ in 0..<2 { try await giveUp(fixture) }
        let first = try await fixture.session().id
        let other = try await fixture.session("other").id
        // The second message of the first session was tried at another instance, whose clock is
        // slow.
        _ = try await fixture.aside.execute("DELETE FROM delivery_attempt")
        let places = [(first, 1, 4), (first, 2, 2), (other, 1, 1), (other, 2, 3)]
        for (session, sequence, place) in places {
            let log = try #require(UUID(uuidString: "00000000-0000-7000-8000-00000000000\(place)"))
            _ = try await fixture.aside.execute(
                """
                UPDATE delivery_log SET id = \(log)
                WHERE session_id = \(session.uuid) AND sequence = \(Int64(sequence))
                """
            )
        }
        try await recover(id, fixture)
        let claims = try await fixture.claimReplays()
        #expect(claims.map(\.session) == [other, other, first, first])
        #expect(claims.map(\.sequence) == [1, 2, 1, 2])
    }

    @Test func aReplayThatIsGivenBackKeepsItsPlace() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        try await fixture.submit(3)
        for _ in 0..<3 { try await giveUp(fixture) }
        try await recover(id, fixture)
        let log = fixture.stores.deliveryLog
        let two = try await log.claimReplays(
            of: id,
            fixture.worker.reserve(2),
            limit: 2,
            lease: Self.lease
        ).claims
        #expect(two.map(\.sequence) == [1, 2])
        let busy = StoreFixture.attempt(status: 429, reason: "http_status", isReplay: true)
        #expect(try await log.recordReplayed(two[0], busy, isOver: false))
        // The first is no longer claimed, and stays as it is.
        try await log.returnReplays(two)
        let all = try await fixture.claimReplays()
        #expect(all.map(\.sequence) == [1, 2, 3])
        #expect(all.prefix(2).map(\.dueAt) == two.map(\.dueAt))
        // Another claim is not ended by the holder of an earlier one.
        try await log.returnReplays(two)
        #expect(try await fixture.claimReplays().isEmpty)
    }

    @Test func subscriptionsWithReplaysTakeTurns() async throws {
        let fixture = try await StoreFixture()
        let ids = [try await fixture.subscribe(), try await fixture.subscribe()]
            .sorted { $0.description < $1.description }
        try await fixture.submit(3)
        for _ in 0..<3 { try await giveUp(fixture) }
        for id in ids { try await recover(id, fixture) }
        let stores = fixture.stores
        let first = try await stores.deliveryLog.replayTurns(after: nil, limit: 1)
        #expect(first.turns.map(\.subscription) == [ids[0]])
        #expect(first.turns.map(\.tenant) == [fixture.tenant])
        let second = try await stores.deliveryLog.replayTurns(after: first.last, limit: 1)
        #expect(second.turns.map(\.subscription) == [ids[1]])
        let end = try await stores.deliveryLog.replayTurns(after: second.last, limit: 1)
        #expect(end.turns.isEmpty)
        #expect(end.last == nil)
        // What one has claimed is no turn of it any more, nor one of the other.
        let claims = try await stores.deliveryLog.claimReplays(
            of: ids[0],
            fixture.worker.reserve(10),
            limit: 10,
            lease: Self.lease
        ).claims
        #expect(claims.map(\.sequence) == [1, 2, 3])
        let rest = try await stores.deliveryLog.replayTurns(after: nil, limit: 10)
        #expect(rest.turns.map(\.subscription) == [ids[1]])
        #expect(rest.last == nil)
    }

    @Test func replaysOfADeletedSubscriptionAreNotLookedForAgainAndAgain() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        try await fixture.submit(3)
        for _ in 0..<3 { try await giveUp(fixture) }
        try await recover(id, fixture)
        let stores = fixture.stores
        _ = try await stores.subscriptions.deleteSubscription(tenant: fixture.tenant, id: id)
        let turns = try await stores.deliveryLog.replayTurns(after: nil, limit: 10).turns
        #expect(turns.map(\.subscription) == [id])
        #expect(turns.map(\.tenant) == [nil])
        let due = try await stores.deliveryLog.claimReplays(
            of: id,
            fixture.worker.reserve(10),
            limit: 10,
            lease: Self.lease
        )
        #expect(due.isEmpty)
        #expect(try await stores.deliveryLog.cancelReplays(of: id) == 3)
        let areDue = try await stores.deliveryLog.areAnyReplaysDue()
        #expect(!areDue)
    }

    @Test func triesOfAMessageThatIsMadeNoMoreAreNotThoseOfTheNext() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        try await fixture.submit(2)
        for _ in 0..<3 {
            let claim = try await fixture.claimDeliveries()[0]
            _ = try await fixture.fail(claim)
        }
        let claim = try await fixture.claimDeliveries()[0]
        #expect(claim.attempt == 3)
        #expect(claim.tried == TriedMessage(sequence: 1))
        // As when its subscription asks for the second event alone.
        _ = try await fixture.stores.deliveries.recordDeliveryFailed(
            claim,
            sequence: 2,
            DeliverySetback(
                attempt: StoreFixture.attempt(status: 500, reason: "http_status"),
                retryAfter: .zero
            )
        )
        let next = try await fixture.claimDeliveries()[0]
        #expect(next.attempt == 1)
        #expect(next.tried == TriedMessage(sequence: 2))
        #expect(try await log(fixture, id).map(\.sequence) == [2])
    }

    @Test func aReplayOfAMessageThatIsStillTriedLeavesItToTheSchedule() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        try await fixture.submit()
        _ = try await fixture.fail(try await fixture.claimDeliveries()[0])
        let waiting = try await log(fixture, id)[0]
        let stores = fixture.stores
        _ = try await stores.deliveryLog.replay(tenant: fixture.tenant, id: waiting.id)
        let claim = try #require(try await fixture.claimReplays().first)
        let taken = StoreFixture.attempt(status: 200, reason: nil, isReplay: true)
        #expect(try await stores.deliveryLog.recordReplayed(claim, taken))
        #expect(try await log(fixture, id).map(\.state) == [.waiting])
    }

    @Test func aMessageThatAReplayDeliversMeanwhileIsNotSentAgain() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        try await fixture.submit()
        try await giveUp(fixture)
        let replay = try await TestDatabase.current.connection()
        _ = try await replay.execute("BEGIN")
        _ = try await replay.execute("UPDATE delivery_log SET state = 'delivered'")
        async let count = fixture.stores.deliveryLog.recover(
            tenant: fixture.tenant,
            subscription: id,
            since: .distantPast,
            until: nil
        )
        try await fixture.eventuallyWaits(for: replay)
        _ = try await replay.execute("COMMIT")
        await replay.close()
        #expect(try await count == 0)
    }
}

extension StoreFixture {
    fileprivate func claimReplays(
        lease: Duration = .seconds(600)
    ) async throws -> [ReplayClaim] {
        let areDue = try await stores.deliveryLog.areAnyReplaysDue()
        var claims: [ReplayClaim] = []
        for turn in try await stores.deliveryLog.replayTurns(after: nil, limit: 100).turns {
            claims += try await stores.deliveryLog.claimReplays(
                of: turn.subscription,
                worker.reserve(100),
                limit: 100,
                lease: lease
            ).claims
        }
        #expect(areDue == !claims.isEmpty)
        return claims
    }

    /// Returns the state that a replay must leave unchanged.
    fileprivate func healthAndOrder() async throws -> [String] {
        try await aside.execute(
            """
            SELECT d::text AS row FROM delivery d
            UNION ALL SELECT f::text FROM failure_streak f ORDER BY 1
            """
        ).map { try $0.decode("row") }
    }
}
