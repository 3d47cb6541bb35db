import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@Suite(.postgresSchema) struct DeliveryStoreTests {
    private static let lease: Duration = .seconds(600)

    @Test func eventsMakeTheDeliveriesOfTheirSubscriptionsDue() async throws {
        let fixture = try await StoreFixture()
        try await fixture.submit()
        try await fixture.putSession("other")
        let all = try await fixture.subscribe()
        let one = try await fixture.subscribe(
            session: "other",
            filter: EventFilter(["task.created"])
        )
        try await fixture.subscribe(session: "nothing happens here")
        #expect(try await !fixture.stores.deliveries.areAnyDue())
        #expect(try await fixture.claimDeliveries().isEmpty)
        try await fixture.submit(2)
        try await fixture.submit(1, to: "other")
        let claims = try await fixture.claimDeliveries()
        #expect(claims.count == 3)
        #expect(claims.count { $0.subscription == all } == 2)
        let narrow = try #require(claims.first { $0.subscription == one })
        #expect(narrow.filter == EventFilter(["task.created"]))
        // Only events written since the subscription was made.
        let session = try await fixture.session().id
        let wide = try #require(claims.first { $0.session == session })
        #expect(wide.acknowledgedSequence == 1)
        #expect(wide.attempt == 0)
        #expect(try await !fixture.stores.deliveries.areAnyDue())
        #expect(try await fixture.claimDeliveries().isEmpty)
    }

    @Test func whatHasBeenDueForLongestIsClaimedFirst() async throws {
        let fixture = try await StoreFixture()
        try await fixture.subscribe()
        let longest = try await fixture.subscribe()
        try await fixture.submit()
        _ = try await fixture.aside.execute(
            """
            UPDATE delivery SET due_at = due_at - interval '1 s'
            WHERE subscription_id = \(longest.uuid)
            """
        )
        let claims = try await fixture.claimDeliveries()
        #expect(claims.count == 2)
        #expect(claims.first?.subscription == longest)
    }

    @Test func aCursorMovesWithWhatWasDelivered() async throws {
        let fixture = try await StoreFixture()
        try await fixture.subscribe()
        try await fixture.submit(3)
        let claim = try await fixture.claimDeliveries()[0]
        #expect(
            try await fixture.stores.deliveries.recordDelivered(
                claim,
                through: 2,
                status: 204,
                lease: Self.lease
            ) == .current
        )
        // Never backwards.
        #expect(
            try await fixture.stores.deliveries.recordDelivered(
                claim,
                through: 1,
                status: 204,
                lease: Self.lease
            ) == .stale
        )
        // The third event still has to be delivered: the delivery is due again at once.
        #expect(try await fixture.stores.deliveries.releaseDelivery(claim) == .due)
        let next = try await fixture.claimDeliveries()[0]
        #expect(next.acknowledgedSequence == 2)
        #expect(
            try await fixture.stores.deliveries.recordDelivered(
                next,
                through: 3,
                status: 204,
                lease: Self.lease
            ) == .current
        )
        #expect(try await fixture.stores.deliveries.releaseDelivery(next) == .idle)
        #expect(try await fixture.claimDeliveries().isEmpty)
    }

    @Test func aFailedTryWaitsAndIsCounted() async throws {
        let fixture = try await StoreFixture()
        try await fixture.subscribe()
        try await fixture.submit()
        let claim = try await fixture.claimDeliveries()[0]
        #expect(try await fixture.fail(claim, retryAfter: .seconds(3600)) == .recorded)
        #expect(try await fixture.claimDeliveries().isEmpty)
        // New events do not make a failing subscriber's delivery due earlier.
        try await fixture.submit()
        #expect(try await fixture.claimDeliveries().isEmpty)
        try await fixture.makeDeliveriesDue()
        #expect(try await fixture.claimDeliveries().map(\.attempt) == [1])
    }

    @Test func aStaleClaimChangesNothing() async throws {
        let fixture = try await StoreFixture()
        try await fixture.subscribe()
        try await fixture.submit()
        let old = try await fixture.claimDeliveries(lease: .zero)[0]
        let new = try await fixture.claimDeliveries()[0]
        #expect(old.fence != new.fence)
        let stores = fixture.stores
        #expect(
            try await stores.deliveries.recordDelivered(
                old,
                through: 1,
                status: 204,
                lease: Self.lease
            ) == .stale
        )
        #expect(try await fixture.fail(old) == .stale)
        #expect(try await stores.deliveries.releaseDelivery(old) == .stale)
        #expect(
            try await stores.deliveries.recordDelivered(
                new,
                through: 1,
                status: 204,
                lease: Self.lease
            ) == .current
        )
    }

    @Test func aDeletedSubscriptionGetsNothingMore() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.subscribe()
        try await fixture.submit()
        let claim = try await fixture.claimDeliveries(lease: .zero)[0]
        #expect(
            try await fixture.stores.subscriptions.deleteSubscription(
                tenant: fixture.tenant,
                id: id
            )
        )
        #expect(
            try await !fixture.stores.subscriptions.deleteSubscription(
                tenant: fixture.tenant,
                id: id
            )
        )
        try await fixture.submit()
        #expect(try await fixture.claimDeliveries().isEmpty)
        #expect(try await fixture.stores.deliveries.releaseDelivery(claim) == .stale)
    }

    @Test func aDisabledSubscriptionStandsInNobodysWay() async throws {
        let fixture = try await StoreFixture()
        let disabled = try await fixture.subscribe()
        let enabled = try await fixture.subscribe()
        try await fixture.submit()
        var change = SubscriptionChange()
        change.isEnabled = false
        _ = try await fixture.stores.subscriptions.changeSubscription(
            tenant: fixture.tenant,
            id: disabled,
            change
        )
        let claims = try await fixture.claimDeliveries()
        #expect(claims.map(\.subscription) == [enabled])
        // It is not examined again with each claim.
        let due: Query = "SELECT count(*) AS count FROM delivery WHERE due_at <= now()"
        #expect(try await fixture.count(due) == 0)
        change.isEnabled = true
        _ = try await fixture.stores.subscriptions.changeSubscription(
            tenant: fixture.tenant,
            id: disabled,
            change
        )
        #expect(try await fixture.claimDeliveries().map(\.subscription) == [disabled])
    }

    @Test func nothingIsLeftWaitingWhenAClaimMeetsTheEnabling() async throws {
        let fixture = try await StoreFixture(connectionsMax: 8)
        let id = try await fixture.subscribe()
        for number in 0..<20 {
            try await fixture.putSession("session-\(number)")
            try await fixture.submit(to: "session-\(number)")
        }
        var change = SubscriptionChange()
        for _ in 0..<30 {
            change.isEnabled = false
            _ = try await fixture.stores.subscriptions.changeSubscription(
                tenant: fixture.tenant,
                id: id,
                change
            )
            change.isEnabled = true
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<3 {
                    group.addTask { _ = try await fixture.claimDeliveries(5, lease: .zero) }
                }
                group.addTask { [change] in
                    _ = try await fixture.stores.subscriptions.changeSubscription(
                        tenant: fixture.tenant,
                        id: id,
                        change
                    )
                }
                try await group.waitForAll()
            }
            let waiting: Query = """
                SELECT count(*) AS count FROM delivery
                WHERE fence IS NULL AND due_at > now() + interval '1 minute'
                """
            #expect(try await fixture.count(waiting) == 0)
        }
    }

    @Test func noEventIsOverlookedBetweenAReleaseAndASubmission() async throws {
        let fixture = try await StoreFixture(connectionsMax: 10)
        try await fixture.subscribe()
        try await fixture.submit()
        for _ in 0..<60 {
            let claim = try #require(try await fixture.claimDeliveries().first)
            let seen = try await fixture.session().progress.lastSequence
            #expect(
                try await fixture.stores.deliveries.recordDelivered(
                    claim,
                    through: seen,
                    status: 204,
                    lease: Self.lease
                ) == .current
            )
            async let submitted = fixture.stores.submissions.submit(
                StoreFixture.submissions(2),
                tenant: fixture.tenant,
                sessionIdentifier: StoreFixture.identifier
            )
            async let released = fixture.stores.deliveries.releaseDelivery(claim)
            guard case .accepted(_, let signals) = try await submitted else {
                Issue.record("not accepted")
                return
            }
            // Whichever came second tells of it, and only that one.
            #expect(try await (released == .due) != signals.contains(.deliveries))
            // Two events are undelivered now, so the delivery must be due.
            let forgotten: Query = """
                SELECT count(*) AS count FROM delivery d
                JOIN session_progress p ON p.session_id = d.session_id
                WHERE p.last_sequence > d.acknowledged_sequence AND d.due_at IS NULL
                """
            #expect(try await fixture.count(forgotten) == 0)
        }
    }

    @Test func eventsThatAreNotAskedForArePassedWithoutATurn() async throws {
        let fixture = try await StoreFixture()
        let narrow = try await fixture.subscribe(filter: EventFilter(["session.*"]))
        try await fixture.subscribe(filter: EventFilter(["task.created"]))
        try await fixture.submit(3)
        let claims = try await fixture.claimDeliveries()
        let deliveries = fixture.stores.deliveries
        let passed = try #require(claims.first { $0.subscription == narrow })
        let asked = try #require(claims.first { $0.subscription != narrow })
        #expect(try await deliveries.passUnasked(claims) == [passed.fence])
        #expect(try await deliveries.standing(of: passed) == .stale)
        #expect(try await deliveries.standing(of: asked) == .current)
        #expect(try await fixture.claimDeliveries().isEmpty)
        // What happens after a change of the kinds is not lost.
        var change = SubscriptionChange()
        change.filter = EventFilter(["task.*"])
        _ = try await fixture.stores.subscriptions.changeSubscription(
            tenant: fixture.tenant,
            id: narrow,
            change
        )
        try await fixture.submit()
        let next = try #require(try await fixture.claimDeliveries().first)
        #expect(next.subscription == narrow)
        #expect(next.acknowledgedSequence == 3)
        #expect(try await deliveries.passUnasked([next]).isEmpty)
    }

    @Test func noEventIsOverlookedBetweenAPassAndASubmission() async throws {
        let fixture = try await StoreFixture(connectionsMax: 10)
        try await fixture.subscribe(filter: EventFilter(["session.*"]))
        for _ in 0..<30 {
            try await fixture.submit()
            let claim = try #require(try await fixture.claimDeliveries().first)
            async let submitted = fixture.stores.submissions.submit(
                StoreFixture.submissions(2),
                tenant: fixture.tenant,
                sessionIdentifier: StoreFixture.identifier
            )
            async let passed = fixture.stores.deliveries.passUnasked([claim])
            _ = try await (submitted, passed)
            _ = try await fixture.stores.deliveries.releaseDelivery(claim)
            let forgotten: Query = """
                SELECT count(*) AS count FROM delivery d
                JOIN session_progress p ON p.session_id = d.session_id
                WHERE p.last_sequence > d.acknowledged_sequence AND d.due_at IS NULL
                """
            #expect(try await fixture.count(forgotten) == 0)
        }
    }

    @Test func whatIsPostponedIsDueAfterItsWaitUnlessItIsHeldByAnother() async throws {
        let fixture = try await StoreFixture()
        try await fixture.subscribe()
        for session in ["first", "second", "third"] {
            try await fixture.putSession(session)
            try await fixture.submit(1, to: session)
        }
        let claims = try await fixture.claimDeliveries()
        #expect(claims.count == 3)
        let stolen = claims[2].session
        _ = try await fixture.aside.execute(
            "UPDATE delivery SET fence = -1 WHERE session_id = \(stolen.uuid)"
        )
        try await fixture.stores.deliveries.postpone(
            [(claims[0], .zero), (claims[1], .seconds(3600)), (claims[2], .zero)]
        )
        let again = try await fixture.claimDeliveries()
        #expect(again.map(\.session) == [claims[0].session])
        let waiting: Query = """
            SELECT count(*) AS count FROM delivery
            WHERE session_id = \(claims[1].session.uuid) AND fence IS NULL AND worker IS NULL
                AND due_at > now() + interval '50 min'
            """
        #expect(try await fixture.count(waiting) == 1)
    }

    @Test func whatIsRecalledIsDueUnlessSomethingHasBecomeOfItSince() async throws {
        let fixture = try await StoreFixture()
        try await fixture.subscribe()
        for session in ["first", "second", "third"] {
            try await fixture.putSession(session)
            try await fixture.submit(2, to: session)
        }
        let claims = try await fixture.claimDeliveries()
        #expect(claims.count == 3)
        try await fixture.stores.deliveries.postpone(claims.map { ($0, .seconds(3600)) })
        let passed = claims[1].session
        _ = try await fixture.aside.execute(
            """
            UPDATE delivery SET acknowledged_sequence = acknowledged_sequence + 1
            WHERE session_id = \(passed.uuid)
            """
        )
        try await fixture.stores.deliveries.recall(Array(claims[..<2]))
        let again = try await fixture.claimDeliveries()
        #expect(again.map(\.session) == [claims[0].session])
        // Whoever has claimed it since keeps it.
        try await fixture.stores.deliveries.recall([claims[0]])
        let held = try await fixture.claimDeliveries()
        #expect(held.isEmpty)
    }

    /// A claim whose answer was lost is given back, and nothing else that is being delivered.
    @Test func whatAnUnansweredClaimHasGotIsDueAgain() async throws {
        let fixture = try await StoreFixture()
        try await fixture.subscribe()
        try await fixture.submit()
        let held = try await fixture.claimDeliveries()
        #expect(held.count == 1)
        try await fixture.putSession("second")
        try await fixture.submit(1, to: "second")
        let fences = fixture.worker.reserve(10)
        let lost = try await fixture.stores.deliveries.claimDeliveries(
            fences,
            limit: 10,
            lease: .seconds(600)
        )
        #expect(lost.claims.count == 1)
        #expect(try await fixture.claimDeliveries().isEmpty)
        try await fixture.stores.deliveries.returnDeliveries(claimedUnder: fences, limit: 10)
        let again = try await fixture.claimDeliveries()
        #expect(again.map(\.session) == lost.claims.map(\.session))
        // The other one still belongs to its holder.
        let standing = try await fixture.stores.deliveries.recordDelivered(
            held[0],
            through: 1,
            status: 204,
            lease: .seconds(600)
        )
        #expect(standing == .current)
    }
}
