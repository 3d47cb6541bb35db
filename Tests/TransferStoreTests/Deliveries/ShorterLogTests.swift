import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// Logs that end before events which were read from them: a standby that lacked these is in the
/// place of the server that had them.
@Suite(.postgresSchema) struct ShorterLogTests {
    private static let lease: Duration = .seconds(600)
    private static let cursor: Query = "SELECT acknowledged_sequence AS count FROM delivery"

    /// Lets the log of the only session end with the event `sequence`.
    private func cut(after sequence: Int64, _ fixture: StoreFixture) async throws {
        let session = try await fixture.session().id
        _ = try await fixture.aside.execute(
            Query.expireEvents(where: "last_sequence > \(sequence)") + [
                """
                UPDATE session_progress SET last_sequence = \(sequence)
                WHERE session_id = \(session.uuid)
                """
            ]
        )
    }

    /// Gives up the message of an event.
    private func giveUp(
        _ claim: DeliveryClaim,
        _ sequence: Int64,
        _ fixture: StoreFixture
    ) async throws -> SetbackResult {
        let attempt = StoreFixture.attempt(status: 500, reason: "http_status")
        return try await fixture.stores.deliveries.recordDeliveryFailed(
            claim,
            sequence: sequence,
            DeliverySetback(attempt: attempt, retryAfter: nil)
        )
    }

    @Test func whatTakesTheNumbersOfLostEventsIsDelivered() async throws {
        let fixture = try await StoreFixture()
        try await fixture.subscribe()
        try await fixture.submit(5)
        let claim = try #require(try await fixture.claimDeliveries().first)
        #expect(try await fixture.record(claim, 1) == .current)
        try await cut(after: 2, fixture)
        #expect(try await fixture.record(claim, 5) == .stale)
        #expect(try await fixture.record(claim, 3) == .stale)
        #expect(try await fixture.count(Self.cursor) == 1)
        try await fixture.submit(2)
        #expect(try await fixture.stores.deliveries.releaseDelivery(claim) == .due)
        let next = try #require(try await fixture.claimDeliveries().first)
        #expect(next.acknowledgedSequence == 1)
        #expect(try await fixture.record(next, 4) == .current)
        #expect(try await fixture.stores.deliveries.releaseDelivery(next) == .idle)
    }

    /// Nor is it logged, whether the subscription has changed meanwhile or not.
    @Test(arguments: [false, true])
    func noTryOfALostEventCountsForAnother(isChanged: Bool) async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        try await fixture.submit(5)
        let claim = try #require(try await fixture.claimDeliveries().first)
        try await cut(after: 2, fixture)
        if isChanged {
            var change = SubscriptionChange()
            change.rateLimit = .some(7)
            _ = try await fixture.stores.subscriptions.changeSubscription(
                tenant: fixture.tenant,
                id: id,
                change
            )
        }
        #expect(try await giveUp(claim, 3, fixture) == .stale)
        let isAwaiting = try await fixture.stores.wakeUps.recordAwaitingAck(
            claim,
            sequence: 3,
            attempt: StoreFixture.attempt(status: 202, reason: nil),
            timeout: Self.lease
        )
        #expect(!isAwaiting)
        #expect(try await fixture.count(Self.cursor) == 0)
        #expect(try await fixture.count("SELECT count(*) AS count FROM delivery_log") == 0)
        #expect(try await fixture.count("SELECT count(*) AS count FROM failure_streak") == 0)
        let tried: Query = """
            SELECT count(*) AS count FROM delivery WHERE tried_sequence IS NOT NULL OR attempt > 0
            """
        #expect(try await fixture.count(tried) == 0)
        // Of what there is, it counts.
        #expect(try await giveUp(claim, 2, fixture) == (isChanged ? .outdated : .recorded))
    }

    @Test(arguments: [false, true])
    func aCursorBehindTheEndMovesBeforeWhatIsKept(isAnyKept: Bool) async throws {
        let fixture = try await StoreFixture()
        try await fixture.subscribe()
        try await fixture.submit(5)
        let claim = try #require(try await fixture.claimDeliveries().first)
        #expect(try await fixture.record(claim, 5) == .current)
        #expect(try await fixture.stores.deliveries.releaseDelivery(claim) == .idle)
        try await cut(after: 2, fixture)
        try await fixture.submit(1)
        let last: Int64 = isAnyKept ? 1 : 3
        _ = try await fixture.aside.execute(
            Query.expireEvents(where: "last_sequence <= \(last)")
        )
        let next = try #require(try await fixture.claimDeliveries().first)
        #expect(next.acknowledgedSequence == 5)
        for _ in 0..<2 {
            let cursor = try await fixture.stores.deliveries.recordExpired(next, lease: Self.lease)
            #expect(cursor == last)
        }
        #expect(try await fixture.count(Self.cursor) == last)
        // Nothing of it has expired.
        #expect(try await fixture.count("SELECT count(*) AS count FROM delivery_log") == 0)
        let release = try await fixture.stores.deliveries.releaseDelivery(next)
        #expect(release == (isAnyKept ? .due : .idle))
    }
}
