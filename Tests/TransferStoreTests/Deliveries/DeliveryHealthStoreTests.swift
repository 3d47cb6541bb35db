import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

/// The consequences of failed messages for their subscription.
@Suite(.postgresSchema) struct DeliveryHealthStoreTests {
    private static let lease: Duration = .seconds(600)

    private static var health: DeliveryHealth {
        var health = DeliveryHealth()
        health.failuresMax = 3
        health.pauses = [.seconds(1000), .seconds(2000)]
        return health
    }

    /// Makes a subscription with an event in each of `count` sessions.
    private func prepare(_ fixture: StoreFixture, sessions count: Int) async throws {
        try await fixture.subscribe()
        for number in 0..<count {
            try await fixture.putSession("session-\(number)")
            try await fixture.submit(to: "session-\(number)")
        }
    }

    private func claim(
        _ fixture: StoreFixture,
        _ limit: Int = 100
    ) async throws -> [DeliveryClaim] {
        try await fixture.stores.deliveries.claimDeliveries(
            fixture.worker.reserve(limit),
            limit: limit,
            lease: Self.lease,
            health: Self.health
        ).claims
    }

    private func succeed(_ fixture: StoreFixture, _ claim: DeliveryClaim) async throws -> Bool {
        try await fixture.stores.deliveries.recordDelivered(
            claim,
            through: claim.acknowledgedSequence + 1,
            status: 204,
            lease: Self.lease,
            health: Self.health
        ) != .stale
    }

    /// Fails deliveries of the subscription until it is paused.
    private func breakIt(_ fixture: StoreFixture) async throws {
        for _ in 0..<3 {
            let claim = try #require(try await claim(fixture, 1).first)
            _ = try await fixture.fail(claim, health: Self.health)
        }
    }

    /// Returns the seconds until the only pause ends.
    private func pause(_ fixture: StoreFixture) async throws -> Double? {
        try await fixture.aside.execute(
            """
            SELECT extract(epoch FROM paused_until - clock_timestamp())::double precision AS pause
            FROM failure_streak
            """
        ).first?.decodeIfPresent("pause")
    }

    private func endPause(_ fixture: StoreFixture) async throws {
        _ = try await fixture.aside.execute(
            "UPDATE failure_streak SET paused_until = clock_timestamp() - interval '1 s'"
        )
        try await fixture.makeDeliveriesDue()
    }

    @Test func whatSucceedsLeavesNoRow() async throws {
        let fixture = try await StoreFixture()
        try await prepare(fixture, sessions: 5)
        for claim in try await claim(fixture) { #expect(try await succeed(fixture, claim)) }
        let rows: Query = """
            SELECT (SELECT count(*) FROM failure_streak) + (SELECT count(*) FROM delivery_log)
                + (SELECT count(*) FROM delivery_attempt) AS count
            """
        #expect(try await fixture.count(rows) == 0)
    }

    @Test func isSparedLongerTheMoreProbesFail() async throws {
        let fixture = try await StoreFixture()
        try await prepare(fixture, sessions: 10)
        try await breakIt(fixture)
        for pauses in [1000.0, 2000, 2000] {
            let pause = try #require(try await pause(fixture))
            #expect((pauses - 100...pauses).contains(pause))
            try await endPause(fixture)
            let probe = try #require(try await claim(fixture).first)
            _ = try await fixture.fail(probe, health: Self.health)
        }
    }

    @Test func whatWasInFlightWhenAPauseBeganDoesNotLengthenIt() async throws {
        let fixture = try await StoreFixture()
        try await prepare(fixture, sessions: 13)
        let claims = try await claim(fixture)
        for (number, claim) in claims[..<11].enumerated() {
            _ = try await fixture.fail(claim, health: Self.health)
            #expect(try await (pause(fixture) == nil) == (number < 2))
        }
        #expect((900...1000).contains(try await pause(fixture) ?? 0))
        let failures: Query = "SELECT failures::bigint AS count FROM failure_streak"
        #expect(try await fixture.count(failures) == 3)
        // What waits for a slot is not sent.
        #expect(try await fixture.stores.deliveries.standing(of: claims[11]) == .outdated)
        // A receiver gets the pause that it asks for all the same.
        _ = try await fixture.fail(claims[12], throttle: .seconds(3000), health: Self.health)
        #expect((2900...3000).contains(try await pause(fixture) ?? 0))
        #expect(try await fixture.count(failures) == 3)
    }

    @Test func aProbeThatHasNothingToSendLetsTheNextOneTry() async throws {
        let fixture = try await StoreFixture()
        let narrow = try await fixture.subscribe(filter: EventFilter(["session.*"]))
        _ = try await fixture.aside.execute(
            "INSERT INTO failure_streak (subscription_id, failures) VALUES (\(narrow.uuid), 10)"
        )
        try await fixture.submit()
        let probe = try #require(try await fixture.claimDeliveries().first)
        #expect(try await fixture.stores.deliveries.passUnasked([probe]) == [probe.fence])
        try await fixture.putSession("other")
        try await fixture.submit(1, to: "other")
        #expect(try await fixture.claimDeliveries().count == 1)
    }

    /// The receiver has asked for the pause, or has failed too often.
    @Test(arguments: [Int32(1), 10])
    func whatIsSparedReturnsOneAfterAnother(failures: Int32) async throws {
        let fixture = try await StoreFixture()
        let spared = try await fixture.subscribe(session: "nothing happens here")
        _ = try await fixture.aside.execute([
            """
            INSERT INTO delivery (subscription_id, session_id, acknowledged_sequence, due_at)
            SELECT \(spared.uuid), gen_random_uuid(), 0, now() FROM generate_series(1, 300)
            """,
            """
            INSERT INTO failure_streak (subscription_id, failures, paused_until)
            VALUES (\(spared.uuid), \(failures), now() + interval '1000 s')
            """,
        ])
        for _ in 0..<5 { #expect(try await claim(fixture, 64).isEmpty) }
        let soon: Query = """
            SELECT count(*) AS count FROM delivery d JOIN failure_streak f USING (subscription_id)
            WHERE d.due_at <= f.paused_until + interval '100 ms'
            """
        #expect(try await fixture.count(soon) == 20)
        // A tenth of a second after the pause.
        _ = try await fixture.aside.execute([
            """
            UPDATE delivery d SET due_at = now() FROM failure_streak f
            WHERE d.due_at <= f.paused_until + interval '100 ms'
            """,
            "UPDATE failure_streak SET paused_until = now()",
        ])
        let living = try await fixture.subscribe()
        try await fixture.submit()
        #expect(try await claim(fixture, 64).contains { $0.subscription == living })
    }

    @Test func whatIsSparedStandsInNobodysWay() async throws {
        let fixture = try await StoreFixture()
        try await prepare(fixture, sessions: 6)
        try await breakIt(fixture)
        let living = try await fixture.subscribe()
        try await fixture.submit()
        #expect(try await claim(fixture).map(\.subscription) == [living])
        // None of these is examined again before the pause ends.
        let due: Query = "SELECT count(*) AS count FROM delivery WHERE due_at <= now()"
        #expect(try await fixture.count(due) == 0)
    }

    @Test func oneDeliveryFindsOutWhetherTheReceiverIsBack() async throws {
        let fixture = try await StoreFixture(connectionsMax: 8)
        try await prepare(fixture, sessions: 12)
        try await breakIt(fixture)
        try await endPause(fixture)
        let claims = try await withThrowingTaskGroup { group in
            for _ in 0..<6 { group.addTask { try await claim(fixture, 4) } }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(claims.count == 1)
        #expect(try await claim(fixture).isEmpty)
        // The pause that began with the probe is not for the probe.
        let probe = try #require(claims.first)
        let deliveries = fixture.stores.deliveries
        #expect(try await deliveries.standing(of: probe) == .current)
        // The probe succeeds: all others are due.
        #expect(try await succeed(fixture, probe))
        #expect(try await claim(fixture).count == 11)
        let streaks: Query = "SELECT count(*) AS count FROM failure_streak"
        #expect(try await fixture.count(streaks) == 0)
    }

    @Test func aFailedProbeKeepsTheOthersAwayForLonger() async throws {
        let fixture = try await StoreFixture()
        try await prepare(fixture, sessions: 4)
        try await breakIt(fixture)
        try await endPause(fixture)
        let probe = try #require(try await claim(fixture).first)
        _ = try await fixture.fail(probe, health: Self.health)
        #expect((1900...2000).contains(try await pause(fixture) ?? 0))
        try await fixture.makeDeliveriesDue()
        #expect(try await claim(fixture).isEmpty)
    }

    @Test func aReceiverThatAsksForAPauseGetsItWhateverWasOnItsWay() async throws {
        let fixture = try await StoreFixture()
        try await prepare(fixture, sessions: 3)
        let claims = try await claim(fixture, 2)
        _ = try await fixture.fail(claims[0], throttle: .seconds(500), health: Self.health)
        #expect(try await succeed(fixture, claims[1]))
        #expect(try await fixture.stores.deliveries.releaseDelivery(claims[1]) != .stale)
        #expect((400...500).contains(try await pause(fixture) ?? 0))
        #expect(try await claim(fixture).isEmpty)
        let failures: Query = "SELECT failures::bigint AS count FROM failure_streak"
        #expect(try await fixture.count(failures) == 0)
        try await endPause(fixture)
        #expect(try await claim(fixture).count == 2)
    }

    @Test func ourOwnFailuresCountAgainstNobody() async throws {
        let fixture = try await StoreFixture()
        try await prepare(fixture, sessions: 1)
        for _ in 0..<5 {
            let claim = try #require(try await claim(fixture).first)
            _ = try await fixture.fail(claim, isReceiversFault: false, health: Self.health)
        }
        let streaks: Query = "SELECT count(*) AS count FROM failure_streak"
        #expect(try await fixture.count(streaks) == 0)
    }

    @Test func aBurstOfFailuresDisablesNothingAndDaysOfThemDo() async throws {
        let fixture = try await StoreFixture()
        try await prepare(fixture, sessions: 30)
        let claims = try await claim(fixture)
        for claim in claims.dropLast(3) {
            #expect(try await fixture.fail(claim, health: Self.health) == .recorded)
        }
        _ = try await fixture.aside.execute(
            "UPDATE failure_streak SET failing_since = failing_since - interval '119 h'"
        )
        #expect(try await fixture.fail(claims[27], health: Self.health) == .recorded)
        let witness = try await fixture.subscribe()
        try await fixture.subscribe(session: "another")
        _ = try await fixture.aside.execute(
            "UPDATE failure_streak SET failing_since = failing_since - interval '1 h'"
        )
        // By a clock that shows six days more than have passed, it has not failed for that long.
        let latest = Date() - 6 * 24 * 3600
        let early = try await fixture.fail(claims[28], health: Self.health, notAfter: latest)
        #expect(early == .recorded)
        #expect(try await fixture.fail(claims[29], health: Self.health) == .disabled)
        let disabled = claims[0].subscription
        let stores = fixture.stores
        let subscription = try await stores.subscriptions.subscription(
            tenant: fixture.tenant,
            id: disabled
        )
        #expect(subscription?.disablement?.reason == .failing)
        // The tenant is told once, and so are those of its subscriptions that are not for a single
        // session.
        let events = try await stores.events.events(
            of: SessionID(fixture.tenant.uuid),
            after: 0,
            limit: 10
        )
        #expect(events.map(\.kind) == [.subscriptionDisabled])
        #expect(events[0].disabledSubscription?.id == disabled)
        #expect(events[0].disabledSubscription?.reason == .failing)
        let told = try await claim(fixture)
        #expect(told.map(\.subscription) == [witness])
        #expect(told.map(\.session) == [SessionID(fixture.tenant.uuid)])
        #expect(told.map(\.acknowledgedSequence) == [0])
    }

    @Test func aReceiverThatIsGoneIsDisabledAtOnceAndLosesNothing() async throws {
        let fixture = try await StoreFixture()
        try await prepare(fixture, sessions: 2)
        let claims = try await claim(fixture)
        let id = claims[0].subscription
        #expect(
            try await fixture.fail(
                claims[0],
                retryAfter: .seconds(5),
                isGone: true,
                health: Self.health
            ) == .disabled
        )
        let stores = fixture.stores
        let subscription = try await stores.subscriptions.subscription(
            tenant: fixture.tenant,
            id: id
        )
        #expect(subscription?.disablement?.reason == .gone)
        #expect(try await stores.deliveries.releaseDelivery(claims[1]) != .stale)
        #expect(try await claim(fixture).isEmpty)
        var change = SubscriptionChange()
        change.isEnabled = true
        _ = try await stores.subscriptions.changeSubscription(
            tenant: fixture.tenant,
            id: id,
            change
        )
        #expect(try await claim(fixture).map(\.acknowledgedSequence) == [0, 0])
    }

    /// Also by a failure that is being counted just then.
    @Test(arguments: [false, true])
    func aDeletedSubscriptionFailsNoLonger(isBeingCounted: Bool) async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        let subscriptions = fixture.stores.subscriptions
        let counter = try await TestDatabase.current.connection()
        let steps: [Query] = [
            "BEGIN", "SELECT 1 FROM subscription FOR NO KEY UPDATE",
            "INSERT INTO failure_streak (subscription_id, failures) VALUES (\(id.uuid), 1)",
        ]
        for step in steps { _ = try await counter.execute(step) }
        if !isBeingCounted { _ = try await counter.execute("COMMIT") }
        async let isDeleted = subscriptions.deleteSubscription(tenant: fixture.tenant, id: id)
        if isBeingCounted {
            try await fixture.eventuallyWaits(for: counter)
            _ = try await counter.execute("COMMIT")
        }
        await counter.close()
        #expect(try await isDeleted)
        #expect(try await fixture.stores.fleet.figures().subscriptionsFailing == 0)
    }

    /// The answer is to the last try that the schedule allows, or not.
    @Test(arguments: [false, true])
    func whatAFormerReceiverAnswersCountsForNothing(isLast: Bool) async throws {
        let fixture = try await StoreFixture()
        try await prepare(fixture, sessions: 1)
        let held = try #require(try await claim(fixture).first)
        var change = SubscriptionChange()
        change.url = "https://other.test/"
        let subscriptions = fixture.stores.subscriptions
        _ = try await subscriptions.changeSubscription(
            tenant: fixture.tenant,
            id: held.subscription,
            change
        )
        let result = try await fixture.fail(
            held,
            retryAfter: isLast ? nil : .seconds(3600),
            throttle: .seconds(3600),
            isGone: true,
            health: Self.health
        )
        #expect(result == .outdated)
        let found = try await subscriptions.subscription(
            tenant: fixture.tenant,
            id: held.subscription
        )
        let subscription = try #require(found)
        #expect(subscription.disablement == nil)
        #expect(try await fixture.count("SELECT count(*) AS count FROM failure_streak") == 0)
        // It is due, as the same message with as many tries as before, and logged.
        let next = try #require(try await claim(fixture).first)
        #expect(next.endpoint.url == "https://other.test/")
        #expect(next.acknowledgedSequence == 0)
        #expect(next.attempt == 0)
        #expect(next.tried == TriedMessage(sequence: 1))
        let logged: Query = """
            SELECT count(*) AS count FROM delivery_log l
            JOIN delivery_attempt a ON a.delivery_id = l.id WHERE l.state = 'waiting'
            """
        #expect(try await fixture.count(logged) == 1)
        #expect(try await fixture.fail(held, health: Self.health) == .stale)
    }
}
