import Foundation
import Postgres
import StandardWebhooks
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWebhooks
import TransferWire

/// Several events in one message.
@Suite(.postgresSchema, .timeLimit(.minutes(5)))
struct WebhookBatchTests {
    private let twoTries = DeliverySchedule(waits: [.milliseconds(1)])
    /// A schedule with which a second try comes only when the test makes it due.
    private let patient = DeliverySchedule(waits: [.seconds(3600), .seconds(3600)])

    private func batch(_ message: ReceivedWebhook) throws -> BatchMessage {
        try JSONDecoder().decode(BatchMessage.self, from: Data(message.body))
    }

    private func sequences(_ message: ReceivedWebhook) throws -> [Int64] {
        guard let batch = try? batch(message) else { return [try message.event().sequence] }
        #expect(batch.type == "events.batch")
        #expect(batch.id == message.id)
        let sequences = batch.data.events.map(\.data.sequence)
        #expect(sequences.first == batch.data.firstSequence)
        #expect(sequences.last == batch.data.lastSequence)
        return sequences
    }

    private func makeDue(_ fixture: DeliveryFixture) async throws {
        try await fixture.execute("UPDATE delivery SET due_at = now() WHERE due_at IS NOT NULL")
    }

    @Test func aMessageHoldsTheNextEventsOfASession() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe { $0.form = .batch }
        try await fixture.happen(250)
        let messages = try await fixture.withDispatcher { _ in
            let messages = try await fixture.receiver.messages(3)
            _ = try await fixture.delivery { $0.wait == nil }
            return messages
        }
        #expect(
            try messages.map(sequences) == [Array(1...100), Array(101...200), Array(201...250)]
        )
        #expect(Set(messages.map(\.id)).count == 3)
        let page = try await fixture.stores.events.events(
            tenant: fixture.tenant,
            sessionIdentifier: "nightly",
            after: 100,
            limit: 1
        )
        let contents = try messages.map { try batch($0).data }
        #expect(contents.allSatisfy { $0.client == "default" })
        #expect(contents.allSatisfy { $0.sessionIdentifier == "nightly" })
        let event = try #require(page?.first)
        let alone = try WireEncoder.encode(EventMessage(event, linkBase: nil))
        let within = try #require(try batch(messages[1]).data.events.first)
        #expect(try WireEncoder.encode(within) == alone)
        let timestamp = try #require(messages[0]["webhook-timestamp"].flatMap(Double.init))
        try WebhookVerifier(secrets: [fixture.secret]).verify(
            headers: messages[0].headers,
            body: messages[0].body,
            now: Date(timeIntervalSince1970: timestamp)
        )
    }

    /// A page ends with the client string that brings it to its bytes, and the batch does not.
    @Test func aMessageGoesBeyondAPageThatItsBytesEnd() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe { $0.form = .batch }
        try await fixture.happen(5, clientString: "a")
        let messages = try await fixture.withDispatcher({ $0.pageBytesMax = 1 }) { _ in
            try await fixture.receiver.messages(1)
        }
        #expect(try messages.map(sequences) == [Array(1...5)])
    }

    @Test func theEndOfAGenerationComesAloneAndLast() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe { $0.form = .batch }
        for task in try await fixture.happen(2) {
            _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: task)
        }
        try await fixture.happen(1)
        let messages = try await fixture.withDispatcher { _ in
            try await fixture.receiver.messages(3)
        }
        #expect(try messages.map(sequences) == [[1, 2, 3, 4], [5], [6]])
        #expect(try messages[1].event().type == "session.events_finished")
    }

    @Test(arguments: DeliveryForm.allCases)
    func whatIsTriedAgainHoldsTheSameEventsThoughMoreCame(now: DeliveryForm) async throws {
        let fixture = try await DeliveryFixture()
        let id = try await fixture.subscribe(answers: [.status(500)]) { $0.form = .batch }
        try await fixture.happen(3)
        try await fixture.withDispatcher(schedule: patient) { _ in
            _ = try await fixture.settledDelivery()
        }
        try await fixture.happen(2)
        var change = SubscriptionChange()
        change.form = now
        _ = try await fixture.stores.subscriptions.changeSubscription(
            tenant: fixture.tenant,
            id: id,
            change
        )
        try await makeDue(fixture)
        let count = now == .batch ? 3 : 4
        let messages = try await fixture.withDispatcher { _ in
            let messages = try await fixture.receiver.messages(count)
            _ = try await fixture.delivery { $0.wait == nil }
            return messages
        }
        #expect(messages[1].id == messages[0].id)
        #expect(messages[1].body == messages[0].body)
        let rest: [[Int64]] = now == .batch ? [[4, 5]] : [[4], [5]]
        #expect(try messages.map(sequences) == [[1, 2, 3], [1, 2, 3]] + rest)
        let tried: Query = "SELECT count(tried_sequence) AS count FROM delivery"
        #expect(try await fixture.count(tried) == 0)
    }

    @Test func aBatchThatIsGivenUpIsOneDeadLetterOfManyEvents() async throws {
        let fixture = try await DeliveryFixture()
        let id = try await fixture.subscribe(answers: [.status(500), .status(500)]) {
            $0.form = .batch
            $0.filter = EventFilter(["task.created", "session.*"])
        }
        for task in try await fixture.happen(3) {
            _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: task)
        }
        let messages = try await fixture.withDispatcher(schedule: twoTries) { dispatcher in
            _ = try await fixture.receiver.messages(3)
            let dead = try await fixture.stores.deliveryLog.logged(id, .dead, of: fixture.tenant)
            #expect(dead.count == 1)
            let delivery = try #require(dead.first)
            let batch = try #require(delivery.batch)
            #expect([batch.first, delivery.sequence, Int64(batch.count)] == [1, 3, 3])
            #expect(delivery.attempts.count == 2)
            let recovered = try await fixture.stores.deliveryLog.recover(
                tenant: fixture.tenant,
                subscription: id,
                since: Date(timeIntervalSince1970: 0),
                until: nil
            )
            #expect(recovered == 1)
            dispatcher.wake(for: [.deliveries])
            return try await fixture.receiver.messages(4)
        }
        let closing = try JSONDecoder().decode(EventMessage.self, from: Data(messages[2].body))
        #expect(closing.type == "session.events_finished")
        #expect(closing.data.deadLetters == 3)
        #expect(messages[3].id == messages[0].id)
        #expect(messages[3].body == messages[0].body)
    }

    @Test func aReplayOfWhatIsNotKeptIsNotSent() async throws {
        let fixture = try await DeliveryFixture()
        let id = try await fixture.subscribe(answers: Array(repeating: .status(500), count: 4))
        try await fixture.happen(2)
        try await fixture.withDispatcher(schedule: twoTries) { dispatcher in
            _ = try await fixture.receiver.messages(4)
            _ = try await fixture.delivery { $0.wait == nil }
            let dead = try await fixture.stores.deliveryLog.logged(id, .dead, of: fixture.tenant)
            #expect(dead.map(\.sequence) == [2, 1])
            try await fixture.execute(Query.expireEvents(where: "last_sequence = 1"))
            try await fixture.execute(
                "UPDATE delivery_log SET replay_due_at = now() WHERE sequence = 1"
            )
            let none = try await fixture.stores.deliveryLog.replay(
                tenant: fixture.tenant,
                id: dead[1].id
            )
            #expect(none == nil)
            _ = try await fixture.stores.deliveryLog.replay(tenant: fixture.tenant, id: dead[0].id)
            dispatcher.wake(for: [.deliveries])
            let messages = try await fixture.receiver.messages(5)
            #expect(try messages.map { try $0.event().sequence } == [1, 1, 2, 2, 2])
        }
    }

    @Test func aBatchThatIsTriedAgainIsWithinBoundsThoughMoreIsAskedFor() async throws {
        let fixture = try await DeliveryFixture()
        let id = try await fixture.subscribe(answers: [.status(500)]) {
            $0.form = .batch
            $0.filter = EventFilter(["task.cancelled"])
        }
        for task in try await fixture.happen(150).prefix(3) {
            _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: task)
        }
        try await fixture.withDispatcher(schedule: patient) { _ in
            _ = try await fixture.delivery { $0.fence == nil && $0.lastStatus == 500 }
        }
        var change = SubscriptionChange()
        change.filter = .some(nil)
        _ = try await fixture.stores.subscriptions.changeSubscription(
            tenant: fixture.tenant,
            id: id,
            change
        )
        let messages = try await fixture.withDispatcher { _ in
            let messages = try await fixture.receiver.messages(3)
            _ = try await fixture.delivery { $0.wait == nil }
            return messages
        }
        #expect(
            try messages.map(sequences) == [[151, 152, 153], Array(1...100), Array(101...153)]
        )
        // The message that was tried is made no more.
        #expect(try await fixture.count("SELECT count(*) AS count FROM delivery_log") == 0)
        #expect(try await fixture.count("SELECT count(*) AS count FROM delivery_attempt") == 0)
    }
}
