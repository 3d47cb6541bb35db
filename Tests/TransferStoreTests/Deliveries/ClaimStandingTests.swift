import Foundation
import Postgres
import StandardWebhooks
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// What a claim is still good for when its subscription has changed.
@Suite(.postgresSchema) struct ClaimStandingTests {
    enum Change: CaseIterable {
        case settings, disabling, rotation, endOfASecret, pause
    }

    @Test(arguments: Change.allCases)
    func isOutdatedAfterAChange(change: Change) async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        if change == .endOfASecret { try await rotate(fixture, id, othersExpireAt: Date() + 600) }
        try await fixture.submit(3)
        let claim = try #require(try await fixture.claimDeliveries().first)
        #expect(try await fixture.stores.deliveries.standing(of: claim) == .current)
        #expect(try await fixture.record(claim, 1) == .current)
        try await make(change, to: id, fixture)
        #expect(try await fixture.stores.deliveries.standing(of: claim) == .outdated)
        // What was sent before is recorded all the same.
        #expect(try await fixture.record(claim, 2) == .outdated)
        #expect(try await fixture.stores.deliveries.releaseDelivery(claim) == .due)
        #expect(try await fixture.stores.deliveries.standing(of: claim) == .stale)
        let next = try await fixture.claimDeliveries()
        guard change != .disabling, change != .pause else {
            #expect(next.isEmpty)
            return
        }
        #expect(next.map(\.acknowledgedSequence) == [2])
        #expect(try await fixture.record(try #require(next.first), 3) == .current)
    }

    /// A claim sees the client as it was when it began, and a force-quit does not see a claim
    /// before it is made.
    @Test func isOutdatedAfterAForceQuitBesideTheClaim() async throws {
        let fixture = try await StoreFixture()
        let client = ClientID(stored: "share")
        let stores = fixture.stores
        _ = try await stores.clients.putClient(tenant: fixture.tenant, id: client, kind: .app)
        let session = try await fixture.putSession(of: client)
        try await fixture.subscribe()
        try await fixture.submit(2, of: client)
        // What is outstanding would be cancelled, with events that wait for the claim.
        try await fixture.complete(try await fixture.claim())
        let holder = try await TestDatabase.current.connection()
        _ = try await holder.execute("BEGIN")
        _ = try await holder.execute("SELECT 1 FROM worker FOR UPDATE")
        async let claims = fixture.claimDeliveries()
        try await fixture.eventuallyWaits(for: holder)
        let quit = try await stores.clients.forceQuit(tenant: fixture.tenant, id: client)
        #expect(quit?.lifecycle == .forceQuit)
        _ = try await holder.execute("COMMIT")
        await holder.close()
        let made = try await claims
        let claim = try #require(made.first { $0.session == session.id })
        #expect(try await stores.deliveries.standing(of: claim) == .outdated)
        #expect(try await fixture.record(claim, 1) == .outdated)
        #expect(try await stores.deliveries.releaseDelivery(claim) == .due)
        let next = try await fixture.claimDeliveries()
        #expect(!next.contains { $0.session == session.id })
    }

    /// The holder does not ask for what is behind the last event that it is certain of.
    @Test func whatIsAskedForSinceTheClaimIsNotPassed() async throws {
        let fixture = try await StoreFixture()
        let (deliveries, cancelled) = (fixture.stores.deliveries, EventFilter(["task.cancelled"]))
        let id = try await fixture.subscribe(filter: cancelled)
        try await fixture.submit(3)
        let claim = try #require(try await fixture.claimDeliveries().first)
        var change = SubscriptionChange()
        change.rateLimit = .some(7)
        try await make(change, to: id, fixture)
        #expect(try await pass(claim, 1, certain: 0, fixture) == .outdated)
        #expect(try await fixture.count(Self.cursor) == 1)
        change.filter = .some(EventFilter(["task.cancelled", "task.created"]))
        try await make(change, to: id, fixture)
        try await fixture.submit()
        #expect(try await pass(claim, 3, certain: 2, fixture) == .outdated)
        #expect(try await pass(claim, 4, certain: 0, fixture) == .outdated)
        #expect(try await fixture.count(Self.cursor) == 2)
        #expect(try await deliveries.releaseDelivery(claim) == .due)
        let next = try #require(try await fixture.claimDeliveries().first)
        #expect(next.acknowledgedSequence == 2)
        #expect(try await deliveries.passUnasked([next]).isEmpty)
        #expect(try await pass(next, 4, certain: 2, fixture) == .current)
        #expect(try await fixture.count(Self.cursor) == 4)
    }

    @Test(arguments: [false, true])
    func whatIsAskedForSinceIsNotPassedByAnAwaitedMessage(isChanged: Bool) async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe(filter: EventFilter(["session.events_finished"]))
        try await fixture.submit()
        try await fixture.complete(try await fixture.claim())
        let last = try #require(
            try await fixture.events().last { $0.kind == .sessionEventsFinished }
        )
        let claim = try #require(try await fixture.claimDeliveries().first)
        var change = SubscriptionChange()
        change.filter = .some(EventFilter(["session.events_finished", "task.created"]))
        if isChanged { try await make(change, to: id, fixture) }
        let isAwaited = try await fixture.stores.wakeUps.recordAwaitingAck(
            claim,
            sequence: last.sequence,
            attempt: StoreFixture.attempt(status: 202, reason: nil),
            timeout: .seconds(600)
        )
        #expect(isAwaited)
        #expect(try await fixture.count(Self.cursor) == (isChanged ? 0 : last.sequence - 1))
    }

    private static let cursor: Query = "SELECT acknowledged_sequence AS count FROM delivery"

    /// Moves a claim's cursor past events that were not asked for when it was made.
    private func pass(
        _ claim: DeliveryClaim,
        _ sequence: Int64,
        certain: Int64,
        _ fixture: StoreFixture
    ) async throws -> ClaimStanding {
        try await fixture.stores.deliveries.recordDelivered(
            claim,
            through: sequence,
            certain: certain,
            status: nil,
            lease: .seconds(600)
        )
    }

    private func make(
        _ change: SubscriptionChange,
        to id: SubscriptionID,
        _ fixture: StoreFixture
    ) async throws {
        _ = try await fixture.stores.subscriptions.changeSubscription(
            tenant: fixture.tenant,
            id: id,
            change
        )
    }

    @Test func aRotationIsNoChangeForAConditionalOne() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        try await rotate(fixture, id, othersExpireAt: nil)
        let subscription = try await fixture.stores.subscriptions.subscription(
            tenant: fixture.tenant,
            id: id
        )
        #expect(subscription?.revision == 0)
    }

    private func make(_ change: Change, to id: SubscriptionID, _ fixture: StoreFixture) async throws
    {
        var settings = SubscriptionChange()
        switch change {
        case .settings: settings.rateLimit = .some(7)
        case .disabling: settings.isEnabled = false
        case .rotation: return try await rotate(fixture, id, othersExpireAt: nil)
        case .endOfASecret:
            _ = try await fixture.aside.execute(
                """
                UPDATE signing_secret SET expires_at = now() - interval '1 s'
                WHERE expires_at IS NOT NULL
                """
            )
            return
        case .pause:
            _ = try await fixture.aside.execute(
                """
                INSERT INTO failure_streak (subscription_id, failures, paused_until)
                VALUES (\(id.uuid), 1, now() + interval '1 hour')
                """
            )
            return
        }
        try await make(settings, to: id, fixture)
    }

    private func rotate(
        _ fixture: StoreFixture,
        _ id: SubscriptionID,
        othersExpireAt expiry: Date?
    ) async throws {
        _ = try await fixture.stores.subscriptions.rotateSecret(
            tenant: fixture.tenant,
            id: id,
            to: .random(),
            othersExpireAt: expiry
        )
    }

    /// The acknowledgement may be there before the record of the answer that announced it.
    @Test func anAcknowledgementBesideTheRecordOfItsAnswerReachesTheLog() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        try await fixture.submit()
        try await fixture.complete(try await fixture.claim())
        let session = try await fixture.session().id
        let event = try #require(
            try await fixture.events().last { $0.kind == .sessionEventsFinished }
        )
        let proof: [UInt8] = try await fixture.aside.execute(
            """
            SELECT substring(sha256(b.ack_key || uuid_send(\(event.id)))
                FOR \(Int32(AckToken.proofBytes))) AS proof
            FROM subscription b WHERE b.id = \(id.uuid)
            """
        )[0].decode("proof")
        let record = try await TestDatabase.current.connection()
        _ = try await record.execute("BEGIN")
        _ = try await record.execute(
            "UPDATE delivery SET acknowledged_sequence = \(event.sequence - 1)"
        )
        _ = try await record.execute(
            """
            INSERT INTO delivery_log (id, subscription_id, session_id, sequence, state)
            VALUES (gen_random_uuid(), \(id.uuid), \(session.uuid), \(event.sequence), 'waiting')
            """
        )
        async let isTaken = fixture.stores.wakeUps.acknowledge(
            AckToken(session: session, sequence: event.sequence, proof: proof),
            tenant: fixture.tenant,
            sessionIdentifier: StoreFixture.identifier
        )
        try await fixture.eventuallyWaits(for: record)
        _ = try await record.execute("COMMIT")
        await record.close()
        #expect(try await isTaken)
        #expect(
            try await fixture.count(
                "SELECT count(*) AS count FROM delivery_log WHERE state = 'delivered'"
            ) == 1
        )
    }
}
