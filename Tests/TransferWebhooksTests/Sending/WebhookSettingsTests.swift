import Foundation
import StandardWebhooks
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWebhooks

/// The settings of a subscription's owner, as its receiver sees them.
@Suite(.postgresSchema, .timeLimit(.minutes(5)))
struct WebhookSettingsTests {
    @Test func aDisabledSubscriptionWaitsAndThenGoesOnInOrder() async throws {
        let fixture = try await DeliveryFixture()
        let other = try await fixture.subscribe("/other")
        let id = try await fixture.subscribe()
        try await fixture.happen(2)
        try await fixture.withDispatcher { _ in
            _ = try await fixture.receiver.messages(2)
            try await fixture.enable(id, false)
            try await fixture.happen(3)
            // Once the other subscription has them, this one has been skipped too.
            _ = try await fixture.receiver.messages(5, at: "/other")
            try await fixture.happen(1)
            _ = try await fixture.receiver.messages(6, at: "/other")
            #expect(fixture.receiver.received().count == 2)
            try await fixture.enable(id)
            _ = try await fixture.receiver.messages(6)
        }
        let sequences = try fixture.receiver.received().map { try $0.event().sequence }
        #expect(sequences == [1, 2, 3, 4, 5, 6])
        #expect(id != other)
    }

    @Test func aMessageIsSignedWithEverySecretThatHasNotExpired() async throws {
        let fixture = try await DeliveryFixture()
        let id = try await fixture.subscribe()
        let second = SigningSecret.random()
        _ = try await fixture.stores.subscriptions.rotateSecret(
            tenant: fixture.tenant,
            id: id,
            to: second,
            othersExpireAt: Date() + 600
        )
        try await fixture.happen(1)
        try await fixture.withDispatcher { _ in _ = try await fixture.receiver.messages(1) }
        let third = SigningSecret.random()
        _ = try await fixture.stores.subscriptions.rotateSecret(
            tenant: fixture.tenant,
            id: id,
            to: third,
            othersExpireAt: nil
        )
        try await fixture.happen(1)
        let messages = try await fixture.withDispatcher { _ in
            try await fixture.receiver.messages(2)
        }
        #expect(Self.knows(messages[0], fixture.secret))
        #expect(Self.knows(messages[0], second))
        #expect(messages[0]["webhook-signature"]?.split(separator: " ").count == 2)
        #expect(!Self.knows(messages[1], fixture.secret))
        #expect(!Self.knows(messages[1], second))
        #expect(Self.knows(messages[1], third))
        #expect(messages[1]["webhook-signature"]?.split(separator: " ").count == 1)
    }

    /// Returns whether a receiver that knows `secret` accepts the message.
    static func knows(_ message: ReceivedWebhook, _ secret: SigningSecret) -> Bool {
        let time = message["webhook-timestamp"].flatMap(Double.init) ?? 0
        do {
            try WebhookVerifier(secrets: [secret]).verify(
                headers: message.headers,
                body: message.body,
                now: Date(timeIntervalSince1970: time)
            )
            return true
        } catch {
            return false
        }
    }

    @Test func headersOfTheOwnerGoWithEveryMessage() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe {
            $0.headers = [
                HTTPHeader(name: "Authorization", value: "Bearer of-the-owner"),
                HTTPHeader(name: "X-Shard", value: "7"),
            ]
        }
        try await fixture.happen(2)
        let messages = try await fixture.withDispatcher { _ in
            try await fixture.receiver.messages(2)
        }
        for message in messages {
            #expect(message["Authorization"] == "Bearer of-the-owner")
            #expect(message["X-Shard"] == "7")
            #expect(message["content-type"] == "application/json")
        }
        #expect(!fixture.log.lines.contains { $0.contains("of-the-owner") })
    }

    @Test(arguments: [1, 6])
    func noMoreSessionsAreDeliveredAtOnceThanTheOwnerAllows(concurrency: Int) async throws {
        let fixture = try await DeliveryFixture()
        let gate = OriginGate()
        try await fixture.subscribe(
            answers: Array(repeating: .hold(gate), count: concurrency)
        ) { $0.concurrency = concurrency }
        for number in 0..<9 { try await fixture.happen(1, in: "session-\(number)") }
        try await fixture.withDispatcher { _ in
            _ = try await fixture.receiver.messages(concurrency)
            gate.open()
            _ = try await fixture.receiver.messages(9)
        }
        #expect(fixture.receiver.log.now.requestsOpenPeak == concurrency)
    }

    @Test func messagesAreSpreadByTheRateThatTheOwnerAllows() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe { $0.rateLimit = 20 }
        try await fixture.happen(5, in: "a")
        try await fixture.happen(5, in: "b")
        let start = ContinuousClock.now
        try await fixture.withDispatcher { _ in _ = try await fixture.receiver.messages(10) }
        // Ten messages at twenty a second have nine gaps; a slow machine only makes them longer.
        #expect(ContinuousClock.now - start >= .milliseconds(450))
    }
}
