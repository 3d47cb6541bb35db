import Foundation
import Postgres
import StandardWebhooks
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWebhooks

@Suite(.postgresSchema, .timeLimit(.minutes(5)))
struct WebhookDispatcherTests {
    @Test func deliversTheEventsOfEachSessionInOrderAndSigned() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe()
        try await fixture.happen(40, in: "a")
        try await fixture.happen(20, in: "b")
        let messages = try await fixture.withDispatcher { _ in
            try await fixture.receiver.messages(60)
        }
        let events = try messages.map { try $0.event() }
        #expect(events.filter { $0.session == "a" }.map(\.sequence) == Array(1...40))
        #expect(events.filter { $0.session == "b" }.map(\.sequence) == Array(1...20))
        for message in messages {
            let timestamp = try #require(message["webhook-timestamp"].flatMap(Double.init))
            try WebhookVerifier(secrets: [fixture.secret]).verify(
                headers: message.headers,
                body: message.body,
                now: Date(timeIntervalSince1970: timestamp)
            )
            #expect(message.method == "POST")
            #expect(message["content-type"] == "application/json")
            #expect(message["user-agent"] == "transferd/1.2.3")
        }
        #expect(Set(messages.map(\.id)).count == 60)
    }

    @Test func goesOnAtASignalWithoutWaitingForThePoll() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe()
        // A poll would come after the test's time limit.
        try await fixture.withDispatcher({ $0.pollInterval = .seconds(3600) }) { dispatcher in
            for count in 1...5 {
                try await fixture.happen(1)
                dispatcher.wake(for: [.deliveries])
                _ = try await fixture.receiver.messages(count)
            }
        }
    }

    @Test func sendsNothingMoreOnceOthersMayTakeItForDead() async throws {
        let fixture = try await DeliveryFixture()
        let gate = OriginGate()
        try await fixture.subscribe(answers: [.hold(gate)])
        try await fixture.happen(3)
        try await fixture.withDispatcher { _ in
            _ = try await fixture.receiver.messages(1)
            // As after a pause of the process that outlasted every lease.
            fixture.worker.trust(until: .now)
            gate.open()
            let delivery = try await fixture.delivery { $0.fence == nil }
            #expect(delivery.acknowledgedSequence == 1)
            #expect(fixture.receiver.received().count == 1)
            fixture.worker.trust(until: .now + .seconds(3600))
            _ = try await fixture.receiver.messages(3)
        }
    }

    @Test func findsWhatComesDuringADelivery() async throws {
        let fixture = try await DeliveryFixture()
        let gate = OriginGate()
        try await fixture.subscribe(answers: [.hold(gate)])
        try await fixture.happen(1)
        try await fixture.withDispatcher({ $0.pollInterval = .seconds(3600) }) { _ in
            _ = try await fixture.receiver.messages(1)
            // Whoever submits is told of no pair that is taken.
            try await fixture.happen(1)
            gate.open()
            _ = try await fixture.receiver.messages(2)
        }
    }

    @Test func sendsOnlyTheKindsASubscriptionAsksFor() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe { $0.filter = EventFilter(["task.cancelled"]) }
        let tasks = try await fixture.happen(20)
        _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: tasks[3])
        try await fixture.happen(20)
        // Skipped events are behind the cursor too, and the pair is idle.
        let delivery = try await fixture.withDispatcher { _ in
            try await fixture.delivery { $0.wait == nil }
        }
        #expect(delivery.acknowledgedSequence == 41)
        #expect(try fixture.receiver.received().map { try $0.event().sequence } == [21])
    }

    @Test func sendsOnlyTheSessionASubscriptionIsFor() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe("/all")
        try await fixture.subscribe("/one", session: "b")
        try await fixture.happen(2, in: "a")
        try await fixture.happen(2, in: "b")
        try await fixture.withDispatcher { _ in
            _ = try await fixture.receiver.messages(4, at: "/all")
            _ = try await fixture.receiver.messages(2, at: "/one")
        }
        let sessions = try fixture.receiver.received(at: "/one").map { try $0.event().session }
        #expect(sessions == ["b", "b"])
    }

    @Test func goesOnWhereAnotherDispatcherStopped() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe()
        try await fixture.happen(3)
        try await fixture.withDispatcher { _ in _ = try await fixture.receiver.messages(3) }
        try await fixture.happen(2)
        try await fixture.withDispatcher { _ in _ = try await fixture.receiver.messages(5) }
        let sequences = try fixture.receiver.received().map { try $0.event().sequence }
        #expect(sequences == [1, 2, 3, 4, 5])
    }

    @Test func deadSubscriberDelaysNobody() async throws {
        let fixture = try await DeliveryFixture()
        let gate = OriginGate()
        try await fixture.subscribe(
            "/dead",
            answers: Array(repeating: .hold(gate), count: 100)
        )
        try await fixture.subscribe("/living")
        let sessions = (0..<12).map { "session-\($0)" }
        for session in sessions { try await fixture.happen(2, in: session) }
        try await fixture.withDispatcher({
            // The dead subscription alone has more due pairs than there are places.
            $0.pairsMax = 8
            $0.shutdownGrace = .zero
            // No dead one is given up, and tried again, before the living ones have all.
            $0.messageTimeout = .seconds(60)
            $0.lease = .seconds(300)
        }) { _ in
            _ = try await fixture.receiver.messages(24, at: "/living")
            _ = try await fixture.receiver.messages(4, at: "/dead")
        }
        #expect(fixture.receiver.received(at: "/dead").count == 4)
        // Pairs on their way and those that waited for a place were given back.
        #expect(try await fixture.deliveries().allSatisfy { $0.fence == nil })
        gate.open()
    }

    @Test(arguments: [(1, 1), (2, 4), (64, 2)])
    func worksThroughMorePairsThanItHasPlacesFor(
        pairsMax: Int,
        perSubscriptionMax: Int
    ) async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe()
        for number in 0..<9 { try await fixture.happen(1, in: "session-\(number)") }
        try await fixture.withDispatcher({
            $0.pairsMax = pairsMax
            // No receiver gets a further slot because the test is slow.
            $0.overdueMax = 0
            $0.perSubscriptionMax = perSubscriptionMax
            $0.pollInterval = .seconds(3600)
        }) { _ in _ = try await fixture.receiver.messages(9) }
        let peak = fixture.receiver.log.now.requestsOpenPeak
        #expect(peak <= min(pairsMax, perSubscriptionMax))
    }

    @Test func staleFenceSendsNothingMore() async throws {
        let fixture = try await DeliveryFixture()
        let gate = OriginGate()
        try await fixture.subscribe(answers: [.hold(gate)])
        try await fixture.happen(3, in: "a")
        try await fixture.happen(3, in: "b")
        // One place for both: the other session's turn comes when the stale pair has ended.
        let messages = try await fixture.withDispatcher({
            $0.perSubscriptionMax = 1
            $0.recordInterval = .zero
        }) { _ in
            let first = try await fixture.receiver.messages(1)
            try await fixture.execute(
                """
                UPDATE delivery d SET fence = -1, due_at = now() + interval '1 day'
                FROM session s
                WHERE s.id = d.session_id AND s.identifier = \(try first[0].event().session)
                """
            )
            gate.open()
            return try await fixture.receiver.messages(4)
        }
        let events = try messages.map { try $0.event() }
        #expect(events.filter { $0.session == events[0].session }.map(\.sequence) == [1])
        let stolen = try await fixture.deliveries().filter { $0.fence == -1 }
        #expect(stolen.map(\.acknowledgedSequence) == [0])
    }

    @Test func goesOnAfterTheDatabaseWasAway() async throws {
        let fixture = try await DeliveryFixture()
        let gate = OriginGate()
        try await fixture.subscribe(answers: [.hold(gate)])
        try await fixture.happen(3)
        try await fixture.withDispatcher { _ in
            _ = try await fixture.receiver.messages(1)
            try await fixture.execute(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE application_name = \(TestDatabase.current.schema)
                """
            )
            gate.open()
            _ = try await fixture.receiver.messages(3)
        }
        let sequences = try fixture.receiver.received().map { try $0.event().sequence }
        #expect(sequences == [1, 2, 3])
    }
}
