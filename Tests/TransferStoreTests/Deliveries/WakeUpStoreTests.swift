import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct WakeUpStoreTests {
    private let throttle = WakeUpThrottle()

    /// Ends a generation in each session, and claims the subscription's deliveries there.
    private func wakeUps(
        _ count: Int,
        _ fixture: StoreFixture
    ) async throws -> [(DeliveryClaim, SessionEvent)] {
        var events: [SessionID: SessionEvent] = [:]
        for number in 0..<count {
            let session = try await fixture.putSession("session \(number)")
            let task = try await fixture.submit(1, to: session.identifier)[0]
            _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: task)
            let event = try await fixture.events(session.identifier).last
            #expect(event?.kind == .sessionEventsFinished)
            events[session.id] = event
        }
        return try await fixture.claimDeliveries().compactMap { claim in
            events[claim.session].map { (claim, $0) }
        }
    }

    /// Makes the last wake-up an earlier one.
    private func pass(_ time: Duration, _ fixture: StoreFixture) async throws {
        _ = try await fixture.aside.execute(
            """
            UPDATE wake_up SET
                sent_at = sent_at - \(time.components.seconds) * interval '1 s'
            """
        )
    }

    /// Returns the time from the last wake-up to the next try of a postponed delivery.
    private func distance(
        of claim: DeliveryClaim,
        _ fixture: StoreFixture
    ) async throws -> Duration {
        let milliseconds: Int64 = try await fixture.aside.execute(
            """
            SELECT round(extract(epoch FROM d.due_at - w.sent_at) * 1000)::bigint AS milliseconds
            FROM delivery d JOIN wake_up w ON w.subscription_id = d.subscription_id
            WHERE d.session_id = \(claim.session.uuid) AND d.fence IS NULL
            """
        )[0].decode("milliseconds")
        return .milliseconds(milliseconds)
    }

    /// Returns the seconds from now to the next try of a postponed delivery.
    private func wait(_ claim: DeliveryClaim, _ fixture: StoreFixture) async throws -> Double {
        try await fixture.aside.execute(
            """
            SELECT extract(epoch FROM due_at - clock_timestamp())::double precision AS wait
            FROM delivery WHERE session_id = \(claim.session.uuid) AND fence IS NULL
            """
        )[0].decode("wait")
    }

    @Test func ofSeveralAtOnceOneGoesAndTheOthersWait() async throws {
        let fixture = try await StoreFixture()
        try await fixture.subscribe()
        let wakeUps = try await wakeUps(8, fixture)
        #expect(wakeUps.count == 8)
        let answers: [SessionID?] = try await withThrowingTaskGroup(of: SessionID?.self) { group in
            for (claim, event) in wakeUps {
                group.addTask {
                    let admission = try await fixture.stores.wakeUps.admitWakeUp(claim, event)
                    return admission == .admitted ? claim.session : nil
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let admitted = answers.compactMap(\.self)
        #expect(admitted.count == 1)
        for (claim, event) in wakeUps where !admitted.contains(claim.session) {
            // Callers that met it while it was being sent ask once more; no other wake-up is sent.
            let admission = try await fixture.stores.wakeUps.admitWakeUp(claim, event)
            #expect(admission != .admitted)
            #expect(try await distance(of: claim, fixture) == throttle.delays[0])
        }
        #expect(try await fixture.count("SELECT count::bigint AS count FROM wake_up") == 1)
    }

    @Test func theNextWaitsLongerUntilADayWasQuiet() async throws {
        let fixture = try await StoreFixture()
        try await fixture.subscribe()
        let wakeUps = try await wakeUps(9, fixture)
        for (index, (claim, event)) in wakeUps.enumerated() {
            if index > 0 {
                // This is too early, by almost the shortest delay.
                let delay = throttle.delays[min(index, throttle.delays.count) - 1]
                try await pass(delay - .seconds(50), fixture)
                let early = try await fixture.stores.claimedAgain(claim, fixture)
                #expect(try await fixture.stores.wakeUps.admitWakeUp(early, event) == .postponed)
                #expect(try await wait(early, fixture) <= 50)
                try await pass(.seconds(50), fixture)
            }
            let again = try await fixture.stores.claimedAgain(claim, fixture)
            #expect(try await fixture.stores.wakeUps.admitWakeUp(again, event) == .admitted)
        }
        #expect(try await fixture.count("SELECT count::bigint AS count FROM wake_up") == 9)
        try await pass(throttle.quietPeriod + .seconds(1), fixture)
        let (claim, _) = wakeUps[0]
        let fresh = try await fixture.stores.claimedAgain(claim, fixture)
        let (_, event) = wakeUps[1]
        #expect(try await fixture.stores.wakeUps.admitWakeUp(fresh, event) == .admitted)
        #expect(try await fixture.count("SELECT count::bigint AS count FROM wake_up") == 1)
    }

    @Test func whatIsTriedAgainDoesNotWait() async throws {
        let fixture = try await StoreFixture()
        try await fixture.subscribe()
        let (claim, event) = try await wakeUps(1, fixture)[0]
        for _ in 0..<3 {
            let again = try await fixture.stores.claimedAgain(claim, fixture)
            #expect(try await fixture.stores.wakeUps.admitWakeUp(again, event) == .admitted)
        }
        #expect(try await fixture.count("SELECT count::bigint AS count FROM wake_up") == 1)
    }

    @Test func aStaleClaimChangesNothing() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        let (claim, event) = try await wakeUps(1, fixture)[0]
        _ = try await fixture.stores.claimedAgain(claim, fixture)
        #expect(try await fixture.stores.wakeUps.admitWakeUp(claim, event) == .undecided)
        #expect(try await fixture.count("SELECT count(*) AS count FROM wake_up") == 0)
        let again = try await fixture.stores.claimedAgain(claim, fixture)
        _ = try await fixture.stores.wakeUps.admitWakeUp(again, event)
        #expect(
            try await fixture.stores.subscriptions.deleteSubscription(
                tenant: fixture.tenant,
                id: id
            )
        )
        #expect(try await fixture.count("SELECT count(*) AS count FROM wake_up") == 0)
    }
}

extension Stores {
    /// Returns the delivery of `claim`, given to this instance once more.
    fileprivate func claimedAgain(
        _ claim: DeliveryClaim,
        _ fixture: StoreFixture
    ) async throws -> DeliveryClaim {
        _ = try await fixture.aside.execute(
            """
            UPDATE delivery SET due_at = now(), fence = NULL, worker = NULL
            WHERE session_id = \(claim.session.uuid)
            """
        )
        let claims = try await fixture.claimDeliveries()
        return try #require(claims.first { $0.session == claim.session })
    }
}
