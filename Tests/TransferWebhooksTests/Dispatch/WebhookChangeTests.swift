import Foundation
import Postgres
import StandardWebhooks
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWebhooks
import TransferWire

/// Changes to a subscription while its events are being delivered, of which many wait.
@Suite(.postgresSchema, .timeLimit(.minutes(5)))
struct WebhookChangeTests {
    private static let events = 50

    @Test func nothingMoreIsSentOnceItIsDisabled() async throws {
        let fixture = try await DeliveryFixture()
        let gate = OriginGate()
        let id = try await fixture.subscribe(answers: [.hold(gate)])
        try await fixture.happen(Self.events)
        try await fixture.withDispatcher({ $0.recordInterval = .zero }) { _ in
            _ = try await fixture.receiver.messages(1)
            try await fixture.enable(id, false)
            gate.open()
            try await untilNoneIsDue(fixture)
            #expect(fixture.receiver.received().count == 1)
            try await fixture.enable(id)
            _ = try await fixture.receiver.messages(Self.events)
            try await untilNoneIsDue(fixture)
        }
        #expect(try sequences(fixture) == Array(1...Int64(Self.events)))
    }

    @Test func aPairThatHasWaitedForASlotIsNotSentEither() async throws {
        let fixture = try await DeliveryFixture()
        let gate = OriginGate()
        let id = try await fixture.subscribe(answers: [.hold(gate)]) { $0.concurrency = 1 }
        for session in ["a", "b"] { try await fixture.happen(Self.events, in: session) }
        try await fixture.withDispatcher({ $0.recordInterval = .zero }) { _ in
            _ = try await fixture.receiver.messages(1)
            try await eventually("both pairs are claimed") {
                try await fixture.deliveries().allSatisfy { $0.fence != nil }
            }
            try await fixture.enable(id, false)
            gate.open()
            try await untilNoneIsDue(fixture)
        }
        #expect(fixture.receiver.received().count == 1)
    }

    @Test func theRestGoesToTheNewURL() async throws {
        let fixture = try await DeliveryFixture()
        let gate = OriginGate()
        let id = try await fixture.subscribe("/old", answers: [.hold(gate)])
        var change = SubscriptionChange()
        change.url = fixture.receiver.open("/new")
        try await fixture.happen(Self.events)
        try await fixture.withDispatcher({ $0.recordInterval = .zero }) { [change] _ in
            _ = try await fixture.receiver.messages(1, at: "/old")
            _ = try await fixture.stores.subscriptions.changeSubscription(
                tenant: fixture.tenant,
                id: id,
                change
            )
            gate.open()
            try await untilNoneIsDue(fixture)
        }
        #expect(try sequences(fixture, at: "/old") == [1])
        #expect(try sequences(fixture, at: "/new") == Array(2...Int64(Self.events)))
    }

    @Test func theRestIsSignedWithTheNewSecretAlone() async throws {
        let fixture = try await DeliveryFixture()
        let gate = OriginGate()
        let id = try await fixture.subscribe(answers: [.hold(gate)])
        let new = SigningSecret.random()
        try await fixture.happen(Self.events)
        try await fixture.withDispatcher({ $0.recordInterval = .zero }) { _ in
            _ = try await fixture.receiver.messages(1)
            try await rotate(fixture, id, to: new, othersExpireAt: nil)
            gate.open()
            try await untilNoneIsDue(fixture)
        }
        try expectChange(fixture, to: new)
    }

    @Test func aSecretThatHasExpiredSignsNothingOfTheRest() async throws {
        let fixture = try await DeliveryFixture()
        let gate = OriginGate()
        let id = try await fixture.subscribe(answers: [.hold(gate)])
        let new = SigningSecret.random()
        try await rotate(fixture, id, to: new, othersExpireAt: Date() + 600)
        try await fixture.happen(Self.events)
        try await fixture.withDispatcher({ $0.recordInterval = .zero }) { _ in
            _ = try await fixture.receiver.messages(1)
            try await fixture.execute(
                """
                UPDATE signing_secret SET expires_at = now() - interval '1 s'
                WHERE expires_at IS NOT NULL
                """
            )
            gate.open()
            try await untilNoneIsDue(fixture)
        }
        try expectChange(fixture, to: new)
    }

    @Test func aPauseThatTheReceiverAsksForReachesItsOtherSessions() async throws {
        let fixture = try await DeliveryFixture()
        let gate = OriginGate()
        try await fixture.subscribe(answers: [
            .hold(gate), .status(503, headers: [("retry-after", "600")]),
        ])
        for session in ["a", "b"] { try await fixture.happen(Self.events, in: session) }
        try await fixture.withDispatcher({ $0.recordInterval = .zero }) { _ in
            _ = try await fixture.receiver.messages(2)
            try await eventually("the subscription is paused") {
                try await fixture.count(
                    "SELECT count(*) AS count FROM failure_streak WHERE paused_until > now()"
                ) == 1
            }
            gate.open()
            try await untilNoneIsDue(fixture)
        }
        #expect(fixture.receiver.received().count == 2)
    }

    private func rotate(
        _ fixture: DeliveryFixture,
        _ id: SubscriptionID,
        to secret: SigningSecret,
        othersExpireAt expiry: Date?
    ) async throws {
        _ = try await fixture.stores.subscriptions.rotateSecret(
            tenant: fixture.tenant,
            id: id,
            to: secret,
            othersExpireAt: expiry
        )
    }

    /// Checks that all events arrived in order, and that all messages but the first are signed with
    /// `secret` alone.
    private func expectChange(_ fixture: DeliveryFixture, to secret: SigningSecret) throws {
        #expect(try sequences(fixture) == Array(1...Int64(Self.events)))
        let messages = fixture.receiver.received()
        #expect(messages.first.map { WebhookSettingsTests.knows($0, fixture.secret) } == true)
        for message in messages.dropFirst() {
            #expect(WebhookSettingsTests.knows(message, secret))
            #expect(!WebhookSettingsTests.knows(message, fixture.secret))
        }
    }

    /// Waits until nobody delivers, and all that is left waits for minutes.
    private func untilNoneIsDue(_ fixture: DeliveryFixture) async throws {
        try await eventually("nothing is due") {
            try await fixture.deliveries().allSatisfy { delivery in
                delivery.fence == nil && delivery.wait.map { $0 > 60 } ?? true
            }
        }
    }

    private func sequences(
        _ fixture: DeliveryFixture,
        at path: String = "/hook"
    ) throws -> [Int64] {
        try fixture.receiver.received(at: path).map { try $0.event().sequence }
    }

    /// Its claim was made under the former kinds, by which it has no message before which the store
    /// would be asked.
    @Test func aPairThatHasWaitedForASlotPassesNothingThatIsAskedForSince() async throws {
        let fixture = try await DeliveryFixture()
        let gate = OriginGate()
        let id = try await fixture.subscribe(answers: [.hold(gate)]) {
            $0.filter = EventFilter(["task.cancelled"])
            $0.concurrency = 1
            $0.form = .batch
        }
        let task = try await fixture.happen(1, in: "a")[0]
        _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: task)
        // More than are looked at before the pair's turn.
        for _ in 0..<20 { try await fixture.happen(1, in: "b") }
        var change = SubscriptionChange()
        change.filter = .some(EventFilter(["task.cancelled", "task.created"]))
        try await fixture.withDispatcher({ $0.recordInterval = .zero }) { [change] _ in
            _ = try await fixture.receiver.messages(1)
            try await eventually("both pairs are claimed") {
                try await fixture.deliveries().allSatisfy { $0.fence != nil }
            }
            _ = try await fixture.stores.subscriptions.changeSubscription(
                tenant: fixture.tenant,
                id: id,
                change
            )
            try await fixture.happen(1, in: "b")
            gate.open()
            try await untilNoneIsDue(fixture)
        }
        let batches = try fixture.receiver.received().map {
            try JSONDecoder().decode(BatchMessage.self, from: Data($0.body)).data
        }
        #expect(batches.map(\.sessionIdentifier) == ["a", "b"])
        #expect(batches.last?.lastSequence == 21)
    }

    @Test func whatIsNotAskedForAnyMoreHoldsNothingUp() async throws {
        let fixture = try await DeliveryFixture()
        let id = try await fixture.subscribe(answers: [.status(500), .status(500)]) {
            $0.filter = EventFilter(["task.created"])
        }
        let task = try await fixture.happen(1)[0]
        // A message is given up after two tries.
        let schedule = DeliverySchedule(waits: [.seconds(36_000)])
        var change = SubscriptionChange()
        change.filter = EventFilter(["task.cancelled"])
        try await fixture.withDispatcher(schedule: schedule) { [change] _ in
            _ = try await fixture.delivery { $0.fence == nil && $0.lastStatus == 500 }
            _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: task)
            _ = try await fixture.stores.subscriptions.changeSubscription(
                tenant: fixture.tenant,
                id: id,
                change
            )
            _ = try await fixture.receiver.messages(2)
            let delivery = try await fixture.delivery { $0.fence == nil && !$0.isDue }
            #expect(delivery.attempt == 1)
            #expect(delivery.wait.map { $0 > 3600 } == true)
        }
        let types = try fixture.receiver.received().map { try $0.event().type }
        #expect(types == ["task.created", "task.cancelled"])
        let logged = try await fixture.stores.deliveryLog.deliveries(
            tenant: fixture.tenant,
            subscription: id,
            state: nil,
            before: nil,
            limit: 10
        )
        #expect(logged?.map(\.kind) == [.taskCancelled])
        #expect(logged?.first?.attempts.count == 1)
    }
}
