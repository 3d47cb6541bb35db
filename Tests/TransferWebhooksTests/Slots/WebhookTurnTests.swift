import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWebhooks

/// Sessions and receivers beside others with many events.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct WebhookTurnTests {
    @Test func aSessionWithOneEventDoesNotWaitForAllOfAnother() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe { $0.concurrency = 1 }
        try await fixture.happen(300, in: "long")
        try await fixture.happen(1, in: "short")
        let messages = try await fixture.withDispatcher({
            $0.turnMax = .seconds(3600)
            $0.turnMessagesMax = 8
        }) { _ in
            try await fixture.receiver.messages(301)
        }
        let events = try messages.map { try $0.event() }
        let place = try #require(events.firstIndex { $0.session == "short" })
        #expect(place < 64)
        #expect(events.filter { $0.session == "long" }.map(\.sequence) == Array(1...300))
    }

    /// Each of them has started as one of which nothing was known.
    @Test func aNewReceiverWaitsForNoMoreThanAMessageOfEachSlowOne() async throws {
        let fixture = try await DeliveryFixture()
        let first = OriginGate()
        let second = OriginGate()
        for number in 0..<8 {
            try await fixture.subscribe(
                "/slow-\(number)",
                answers: [.hold(first), .hold(second)],
                session: "nightly"
            )
        }
        try await fixture.subscribe("/new", session: "own")
        try await fixture.happen(20)
        try await fixture.withDispatcher({
            $0.shutdownGrace = .zero
            // No slow one is given up within the test.
            $0.messageTimeout = .seconds(200)
            $0.lease = .seconds(600)
            $0.pairsMax = 8
            // Whoever has answered is slow.
            $0.quickMax = .zero
            $0.overdueMax = 0
            $0.turnMax = .zero
        }) { _ in
            try await eventually("the slow ones have what they may have") {
                fixture.receiver.log.now.requestsOpen >= 6
            }
            try await fixture.happen(1, in: "own")
            try await eventually("the new one waits with the rest of them") {
                try await fixture.deliveries().count { $0.fence != nil } == 9
            }
            #expect(fixture.receiver.received(at: "/new").isEmpty)
            first.open()
            _ = try await fixture.receiver.messages(1, at: "/new")
            for number in 0..<8 {
                #expect(fixture.receiver.received(at: "/slow-\(number)").count <= 2)
            }
        }
        second.open()
    }

    @Test func postponedPairsReturnWhenTheirReceiverIsIdle() async throws {
        let fixture = try await DeliveryFixture()
        let gate = OriginGate()
        try await fixture.subscribe(answers: [.hold(gate)])
        for number in 0..<8 { try await fixture.happen(1, in: "session-\(number)") }
        try await fixture.withDispatcher({
            $0.perSubscriptionMax = 1
            $0.waitingMax = 2
            $0.messageTimeout = .seconds(60)
            $0.lease = .seconds(300)
            // None returns by itself within the test.
            $0.postponementMin = .seconds(900)
        }) { _ in
            try await eventually("five are postponed") {
                try await fixture.deliveries().count { $0.fence == nil && ($0.wait ?? 0) > 600 }
                    == 5
            }
            gate.open()
            _ = try await fixture.receiver.messages(8)
        }
    }

    @Test func aMessageWithoutAConnectionIsSentAMomentLaterAsIfUntried() async throws {
        let fixture = try await DeliveryFixture(connectionsMax: 1)
        let gate = OriginGate()
        try await fixture.subscribe("/held", answers: [.hold(gate)], session: "first")
        try await fixture.subscribe("/other", session: "second")
        try await fixture.happen(1, in: "first")
        try await fixture.withDispatcher(
            schedule: DeliverySchedule(waits: [.seconds(1000)]),
            {
                $0.messageTimeout = .seconds(200)
                $0.lease = .seconds(600)
                $0.refusedWait = .milliseconds(50)
            }
        ) { _ in
            _ = try await fixture.receiver.messages(1, at: "/held")
            try await fixture.happen(1, in: "second")
            try await eventually("the other message is put off") {
                fixture.log.lines.contains { $0.hasPrefix("notice webhook put off") }
            }
            let tries = try await fixture.deliveries().map(\.attempt)
            #expect(tries == [0, 0])
            gate.open()
            _ = try await fixture.receiver.messages(1, at: "/other")
        }
        let logged = try await fixture.count("SELECT count(*) AS count FROM delivery_log")
        #expect(logged == 0)
    }
}
