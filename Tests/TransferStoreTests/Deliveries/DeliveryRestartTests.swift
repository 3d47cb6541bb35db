import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// What waits for a subscription is due when the reason for the wait is gone, in pages.
@Suite(.postgresSchema) struct DeliveryRestartTests {
    private static let lease: Duration = .seconds(600)
    private static let due: Query = """
        SELECT count(*) AS count FROM delivery WHERE fence IS NULL AND due_at <= clock_timestamp()
        """
    private static let waiting: Query = """
        SELECT count(*) AS count FROM delivery WHERE due_at > clock_timestamp() + interval '1 hour'
        """

    /// Adds deliveries of a subscription that have failed and wait for a day.
    private func addWaiting(
        _ count: Int,
        to subscription: SubscriptionID,
        _ fixture: StoreFixture
    ) async throws {
        _ = try await fixture.aside.execute(
            """
            INSERT INTO delivery (
                subscription_id, session_id, acknowledged_sequence, attempt, last_status,
                attempted_at, due_at)
            SELECT \(subscription.uuid), gen_random_uuid(), 0, 1, 500, now() - interval '1 hour',
                now() + interval '1 day'
            FROM generate_series(1, \(count))
            """
        )
    }

    /// Ends an outage of the only subscription with a message that is taken.
    private func endOutage(_ subscription: SubscriptionID, _ fixture: StoreFixture) async throws {
        try await fixture.submit()
        let claim = try #require(try await fixture.claimDeliveries().first)
        _ = try await fixture.aside.execute(
            """
            INSERT INTO failure_streak (subscription_id, failures)
            VALUES (\(subscription.uuid), 1000)
            """
        )
        let standing = try await fixture.stores.deliveries.recordDelivered(
            claim,
            through: claim.acknowledgedSequence + 1,
            status: 204,
            lease: Self.lease
        )
        #expect(standing == .current)
    }

    /// Carries out all restarts, and returns the number of pages.
    private func finishRestarts(_ fixture: StoreFixture) async throws -> Int {
        var pages = 0
        while true {
            let more = try await fixture.stores.deliveries.continueRestarts()
            guard more > 0 else { break }
            pages += more
        }
        let restarts: Query = "SELECT count(*) AS count FROM delivery_restart"
        #expect(try await fixture.count(restarts) == 0)
        return pages
    }

    private func change(
        _ subscription: SubscriptionID,
        _ fixture: StoreFixture,
        _ edit: (inout SubscriptionChange) -> Void
    ) async throws {
        var change = SubscriptionChange()
        edit(&change)
        _ = try await fixture.stores.subscriptions.changeSubscription(
            tenant: fixture.tenant,
            id: subscription,
            change
        )
    }

    @Test func whatWaitedForTheEndOfAnOutageIsDueInPages() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        let count = 2 * DeliveryStore.restartPageMax + 500
        try await addWaiting(count, to: id, fixture)
        try await endOutage(id, fixture)
        let first = try await fixture.count(Self.due)
        #expect(first > 0)
        #expect(first <= Int64(DeliveryStore.restartPageMax))
        #expect(try await finishRestarts(fixture) == 3)
        #expect(try await fixture.count(Self.due) == Int64(count))
    }

    @Test func whatHasFailedSinceKeepsItsWait() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        try await addWaiting(3, to: id, fixture)
        try await endOutage(id, fixture)
        #expect(try await fixture.count(Self.due) == 3)
        _ = try await fixture.aside.execute(
            """
            UPDATE delivery SET attempted_at = clock_timestamp(), due_at = now() + interval '1 day'
            WHERE fence IS NULL
            """
        )
        #expect(try await finishRestarts(fixture) == 1)
        #expect(try await fixture.count(Self.waiting) == 3)
    }

    @Test func whatWaitsForAChangedSubscriptionIsDueInPages() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        let count = 2 * DeliveryStore.restartPageMax + 500
        try await addWaiting(count, to: id, fixture)
        try await change(id, fixture) { $0.url = "https://other.test/" }
        #expect(try await fixture.count(Self.due) == Int64(DeliveryStore.restartPageMax))
        #expect(try await finishRestarts(fixture) == 2)
        #expect(try await fixture.count(Self.due) == Int64(count))
    }

    @Test func aChangeSucceedsWhileOthersHoldItsDeliveries() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        try await addWaiting(3, to: id, fixture)
        let holder = try await TestDatabase.current.connection()
        _ = try await holder.execute("BEGIN")
        _ = try await holder.execute("SELECT 1 FROM delivery FOR UPDATE")
        var settings = StoreSettings()
        settings.briefLockTimeout = .milliseconds(20)
        let pool = TestDatabase.current.pool(connectionsMax: 1)
        let stores = Stores(Database(pool: pool, settings: settings))
        var change = SubscriptionChange()
        change.url = "https://other.test/"
        let result = try await stores.subscriptions.changeSubscription(
            tenant: fixture.tenant,
            id: id,
            change
        )
        guard case .changed = result else {
            Issue.record("not changed: \(result)")
            return
        }
        #expect(try await fixture.count(Self.waiting) == 3)
        _ = try await holder.execute("COMMIT")
        await holder.close()
        #expect(try await finishRestarts(fixture) == 1)
        #expect(try await fixture.count(Self.due) == 3)
    }

    @Test func aMessageThatWaitsForItsAcknowledgementIsSentAgainOnlyElsewhere() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        try await fixture.submit()
        let claim = try #require(try await fixture.claimDeliveries().first)
        let isAwaiting = try await fixture.stores.wakeUps.recordAwaitingAck(
            claim,
            sequence: claim.acknowledgedSequence + 1,
            attempt: StoreFixture.attempt(status: 202, reason: nil),
            timeout: .seconds(36_000)
        )
        #expect(isAwaiting)
        try await change(id, fixture) { $0.isEnabled = true }
        try await change(id, fixture) { $0.throttlesWakeUps = false }
        #expect(try await finishRestarts(fixture) == 0)
        #expect(try await fixture.count(Self.waiting) == 1)
        try await change(id, fixture) { $0.url = "https://other.test/" }
        #expect(try await fixture.count(Self.due) == 1)
    }

    @Test func aMessageThatWaitsForItsAcknowledgementIsSentAgainAfterADisablement() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        try await fixture.submit()
        let claim = try #require(try await fixture.claimDeliveries().first)
        _ = try await fixture.stores.wakeUps.recordAwaitingAck(
            claim,
            sequence: claim.acknowledgedSequence + 1,
            attempt: StoreFixture.attempt(status: 202, reason: nil),
            timeout: .seconds(36_000)
        )
        try await change(id, fixture) { $0.isEnabled = false }
        #expect(try await fixture.count(Self.waiting) == 1)
        try await change(id, fixture) { $0.isEnabled = true }
        #expect(try await fixture.count(Self.due) == 1)
    }

    @Test func aDeletionChangesNoDeliveryAndClaimsMakeIdleWhatIsDue() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        try await addWaiting(8, to: id, fixture)
        _ = try await fixture.aside.execute([
            """
            UPDATE delivery SET due_at = NULL, attempt = 0
            WHERE session_id IN (SELECT session_id FROM delivery ORDER BY session_id LIMIT 3)
            """,
            "UPDATE delivery SET due_at = now() WHERE due_at IS NOT NULL",
        ])
        func versions(_ condition: Query) async throws -> String {
            try await fixture.aside.execute(
                """
                SELECT string_agg(xmin::text, ' ' ORDER BY session_id) AS versions FROM delivery
                WHERE \(condition)
                """
            )[0].decode("versions")
        }
        let all = try await versions("true")
        let idle = try await versions("attempt = 0")
        let isDeleted = try await fixture.stores.subscriptions.deleteSubscription(
            tenant: fixture.tenant,
            id: id
        )
        #expect(isDeleted)
        #expect(try await versions("true") == all)
        var examined: [Int] = []
        repeat {
            let due = try await fixture.stores.deliveries.claimDeliveries(
                fixture.worker.reserve(2),
                limit: 2,
                lease: Self.lease
            )
            #expect(due.claims.isEmpty)
            examined.append(due.examined)
        } while examined.last != 0
        #expect(examined == [2, 2, 1, 0])
        #expect(try await fixture.count("SELECT count(due_at) AS count FROM delivery") == 0)
        #expect(try await versions("attempt = 0") == idle)
    }

    @Test func aDeletedSubscriptionIsNotDisabled() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        try await fixture.submit()
        let claim = try #require(try await fixture.claimDeliveries().first)
        _ = try await fixture.stores.subscriptions.deleteSubscription(
            tenant: fixture.tenant,
            id: id
        )
        #expect(try await fixture.fail(claim, isGone: true) == .outdated)
        let events = try await fixture.stores.events.events(
            of: SessionID(fixture.tenant.uuid),
            after: 0,
            limit: 10
        )
        #expect(events.map(\.kind) == [])
        #expect(try await fixture.claimDeliveries().isEmpty)
        #expect(try await fixture.count("SELECT count(due_at) AS count FROM delivery") == 0)
    }

    @Test func whatWaitsIsDueWhenOtherEventsAreAskedFor() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        try await addWaiting(3, to: id, fixture)
        try await change(id, fixture) { $0.filter = EventFilter(["task.*"]) }
        #expect(try await fixture.count(Self.due) == 3)
    }

    @Test func noAcknowledgementIsAwaitedOfWhatIsNotAskedForAnyMore() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        try await fixture.submit()
        let claim = try #require(try await fixture.claimDeliveries().first)
        _ = try await fixture.stores.wakeUps.recordAwaitingAck(
            claim,
            sequence: claim.acknowledgedSequence + 1,
            attempt: StoreFixture.attempt(status: 202, reason: nil),
            timeout: .seconds(36_000)
        )
        try await change(id, fixture) { $0.filter = EventFilter(["session.*"]) }
        #expect(try await fixture.count(Self.waiting) == 1)
        try await change(id, fixture) { $0.filter = EventFilter(["task.*"]) }
        #expect(try await fixture.count(Self.due) == 1)
    }

    @Test func whatAFormerReceiverIsToAcknowledgeIsSentAgainAtOnce() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        try await fixture.submit()
        let claim = try #require(try await fixture.claimDeliveries().first)
        try await change(id, fixture) { $0.url = "https://other.test/" }
        let isAwaiting = try await fixture.stores.wakeUps.recordAwaitingAck(
            claim,
            sequence: claim.acknowledgedSequence + 1,
            attempt: StoreFixture.attempt(status: 202, reason: nil),
            timeout: .seconds(36_000)
        )
        #expect(isAwaiting)
        #expect(try await fixture.count(Self.due) == 1)
    }

    /// Performs `body` while the only delivery is held, and changes the URL when it waits for that.
    private func besideChange<Value: Sendable>(
        of subscription: SubscriptionID,
        _ fixture: StoreFixture,
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let holder = try await TestDatabase.current.connection()
        _ = try await holder.execute("BEGIN")
        _ = try await holder.execute("SELECT 1 FROM delivery FOR UPDATE")
        async let value = body()
        try await fixture.eventuallyWaits(for: holder)
        try await change(subscription, fixture) { $0.url = "https://other.test/" }
        _ = try await holder.execute("COMMIT")
        await holder.close()
        return try await value
    }

    /// The record of the failure began before the change, and waited.
    @Test func aFailureBesideAChangeIsThatOfTheFormerReceiver() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        try await fixture.submit()
        let claim = try #require(try await fixture.claimDeliveries().first)
        let result = try await besideChange(of: id, fixture) {
            try await fixture.fail(
                claim,
                retryAfter: .seconds(36_000),
                throttle: .seconds(36_000)
            )
        }
        #expect(result == .outdated)
        #expect(try await fixture.count(Self.due) == 1)
        #expect(try await fixture.count("SELECT count(*) AS count FROM failure_streak") == 0)
    }

    @Test func nothingIsAwaitedOfTheFormerReceiverBesideAChange() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        try await fixture.submit()
        let claim = try #require(try await fixture.claimDeliveries().first)
        let isAwaiting = try await besideChange(of: id, fixture) {
            try await fixture.stores.wakeUps.recordAwaitingAck(
                claim,
                sequence: claim.acknowledgedSequence + 1,
                attempt: StoreFixture.attempt(status: 202, reason: nil),
                timeout: .seconds(36_000)
            )
        }
        #expect(isAwaiting)
        #expect(try await fixture.count(Self.due) == 1)
    }

    /// The change waits for whoever counts a failure, and sees what was counted.
    @Test func aChangeForgetsAFailureBesideIt() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        let holder = try await TestDatabase.current.connection()
        _ = try await holder.execute("BEGIN")
        _ = try await holder.execute("SELECT 1 FROM subscription FOR NO KEY UPDATE")
        _ = try await holder.execute(
            "INSERT INTO failure_streak (subscription_id, failures) VALUES (\(id.uuid), 1)"
        )
        async let changed: Void = change(id, fixture) { $0.url = "https://other.test/" }
        try await fixture.eventuallyWaits(for: holder)
        _ = try await holder.execute("COMMIT")
        await holder.close()
        try await changed
        #expect(try await fixture.count("SELECT count(*) AS count FROM failure_streak") == 0)
    }
}
