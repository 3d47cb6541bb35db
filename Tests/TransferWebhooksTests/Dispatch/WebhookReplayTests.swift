import Foundation
import StandardWebhooks
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWebhooks

/// Deliveries that are given up, subscriptions that are disabled, and the return of both.
@Suite(.postgresSchema, .timeLimit(.minutes(5)))
struct WebhookReplayTests {
    private let threeTries = DeliverySchedule(waits: [.milliseconds(1), .milliseconds(1)])

    @Test func whatIsGivenUpIsPassedOverAndReplayedAsItWas() async throws {
        let fixture = try await DeliveryFixture()
        let refusal = OriginScript.response(
            500,
            body: .text("out of \u{1B}[31morder")
        )
        let id = try await fixture.subscribe(
            answers: Array(repeating: .script(refusal), count: 3)
        )
        try await fixture.happen(3)
        let messages = try await fixture.withDispatcher(schedule: threeTries) { dispatcher in
            _ = try await fixture.receiver.messages(5)
            let delivery = try #require(
                try await fixture.stores.deliveryLog.logged(id, .dead, of: fixture.tenant).first
            )
            #expect(delivery.attempts.count == 3)
            // Characters that could control a terminal are removed from the answer.
            #expect(
                delivery.attempts.map(\.answer) == Array(repeating: "out of �[31morder", count: 3)
            )
            _ = try await fixture.stores.deliveryLog.replay(tenant: fixture.tenant, id: delivery.id)
            dispatcher.wake(for: [.replays])
            let messages = try await fixture.receiver.messages(6)
            try await eventually("nothing is dead") {
                try await fixture.stores.deliveryLog.logged(id, .dead, of: fixture.tenant).isEmpty
            }
            return messages
        }
        #expect(try messages.map { try $0.event().sequence } == [1, 1, 1, 2, 3, 1])
        #expect(messages[5].id == messages[0].id)
        #expect(messages[5].body == messages[0].body)
        #expect(messages[5]["webhook-signature"] != messages[0]["webhook-signature"])
    }

    @Test func aReplayIsSentAtItsSignalWithoutWaitingForThePoll() async throws {
        let fixture = try await DeliveryFixture()
        let id = try await fixture.subscribe(answers: Array(repeating: .status(500), count: 3))
        try await fixture.happen(1)
        // A poll would come after the test's time limit.
        try await fixture.withDispatcher(schedule: threeTries, { $0.pollInterval = .seconds(3600) })
        {
            dispatcher in
            let log = fixture.stores.deliveryLog
            try await eventually("the message is given up") {
                dispatcher.wake(for: [.deliveries])
                return try await !log.logged(id, .dead, of: fixture.tenant).isEmpty
            }
            let dead = try await log.logged(id, .dead, of: fixture.tenant)[0]
            _ = try await log.replay(tenant: fixture.tenant, id: dead.id)
            dispatcher.wake(for: [.replays])
            let messages = try await fixture.receiver.messages(4)
            #expect(messages[3].body == messages[0].body)
        }
    }

    @Test func aRecoveryEndsWhereTheReceiverCannotBeReached() async throws {
        let fixture = try await DeliveryFixture()
        let id = try await fixture.subscribe(
            answers: Array(repeating: .status(500), count: 9) + [
                .status(204), .script(.raw("not HTTP at all\r\n\r\n")),
            ]
        )
        try await fixture.happen(3)
        try await fixture.withDispatcher(schedule: threeTries) { dispatcher in
            _ = try await fixture.receiver.messages(9)
            try await eventually("three are dead") {
                try await fixture.stores.deliveryLog.logged(id, .dead, of: fixture.tenant).count
                    == 3
            }
            let count = try await fixture.stores.deliveryLog.recover(
                tenant: fixture.tenant,
                subscription: id,
                since: .distantPast,
                until: nil
            )
            #expect(count == 3)
            dispatcher.wake(for: [.replays])
            try await eventually("one got through and the others were left") {
                let left = try await fixture.stores.deliveryLog.logged(
                    id,
                    .dead,
                    of: fixture.tenant
                )
                return left.count == 2 && left.allSatisfy { $0.nextAttemptAt == nil }
            }
        }
    }

    @Test func replaysToASlowReceiverHoldUpNoOthers() async throws {
        let fixture = try await DeliveryFixture()
        let gate = OriginGate()
        let refusals = Array(repeating: WebhookReceiver.Answer.status(500), count: 17 * 3)
        let slow = try await fixture.subscribe(
            "/slow",
            answers: refusals + Array(repeating: .hold(gate), count: 17),
            session: "slow"
        )
        let other = try await fixture.subscribe(
            "/other",
            answers: Array(repeating: .status(500), count: 3),
            session: "other"
        )
        try await fixture.happen(17, in: "slow")
        try await fixture.happen(1, in: "other")
        try await fixture.withDispatcher(
            schedule: threeTries,
            {
                $0.shutdownGrace = .zero
                $0.messageTimeout = .seconds(100)
                $0.lease = .seconds(600)
            }
        ) { dispatcher in
            let log = fixture.stores.deliveryLog
            for (id, count) in [(slow, 17), (other, 1)] {
                try await eventually("all are dead") {
                    try await log.logged(id, .dead, of: fixture.tenant).count == count
                }
                let recovered = try await log.recover(
                    tenant: fixture.tenant,
                    subscription: id,
                    since: .distantPast,
                    until: nil
                )
                #expect(recovered == count)
                dispatcher.wake(for: [.replays])
                if id == slow { _ = try await fixture.receiver.messages(17 * 3 + 1, at: "/slow") }
            }
            try await eventually("the other one has its replay") {
                fixture.receiver.received(at: "/other").count == 4
            }
            #expect(fixture.receiver.received(at: "/slow").count == 17 * 3 + 1)
        }
        gate.open()
    }

    @Test func aReceiverThatIsGoneGetsNothingMoreUntilItIsEnabled() async throws {
        let fixture = try await DeliveryFixture()
        let id = try await fixture.subscribe("/gone", answers: [.status(410)])
        try await fixture.subscribe("/other")
        try await fixture.happen(2)
        try await fixture.withDispatcher(schedule: threeTries) { dispatcher in
            let told = try await fixture.receiver.messages(3, at: "/other")
            let body = try #require(
                told.map { String(decoding: $0.body, as: UTF8.self) }
                    .first { $0.contains("subscription.disabled") }
            )
            #expect(body.contains(#""reason":"gone""#))
            #expect(body.contains("\(id)"))
            #expect(!body.contains("session_identifier"))
            try await fixture.happen(1)
            _ = try await fixture.receiver.messages(4, at: "/other")
            #expect(fixture.receiver.received(at: "/gone").count == 1)
            try await fixture.enable(id)
            dispatcher.wake(for: [.deliveries])
            let messages = try await fixture.receiver.messages(4, at: "/gone")
            #expect(try messages.map { try $0.event().sequence } == [1, 1, 2, 3])
        }
    }

    @Test func aTestIsSignedAndLeavesNoTrace() async throws {
        let fixture = try await DeliveryFixture()
        let id = try await fixture.subscribe(
            answers: [.script(.response(418, body: .text("teapot"))), .status(200)]
        )
        try await fixture.enable(id, false)
        let endpoint = try #require(
            try await fixture.stores.deliveryLog.endpoint(tenant: fixture.tenant, subscription: id)
        )
        try await fixture.withDispatcher { dispatcher in
            let tenant = fixture.tenant
            let refused = await dispatcher.sender.sendTest(of: id, to: endpoint, for: tenant)
            #expect(refused.status == 418)
            #expect(refused.reason == "http_status")
            #expect(refused.answer == "teapot")
            let taken = await dispatcher.sender.sendTest(of: id, to: endpoint, for: tenant)
            #expect(taken.status == 200)
            #expect(taken.reason == nil)
        }
        let messages = fixture.receiver.received()
        #expect(Set(messages.map(\.id)).count == 2)
        for message in messages {
            let timestamp = try #require(message["webhook-timestamp"].flatMap(Double.init))
            try WebhookVerifier(secrets: [fixture.secret]).verify(
                headers: message.headers,
                body: message.body,
                now: Date(timeIntervalSince1970: timestamp)
            )
            let body = String(decoding: message.body, as: UTF8.self)
            #expect(body.contains(#""type":"subscription.test""#))
            #expect(body.contains(#""subscription_id":"\#(id)""#))
        }
        #expect(try await fixture.deliveries().isEmpty)
        #expect(try await fixture.stores.deliveryLog.logged(id, .dead, of: fixture.tenant).isEmpty)
    }
}
