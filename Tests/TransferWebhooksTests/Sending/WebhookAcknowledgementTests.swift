import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWebhooks

/// Tests of `session.events_finished`, whose answer is the completion handler.
@Suite(.postgresSchema, .timeLimit(.minutes(5)))
struct WebhookAcknowledgementTests {
    /// Makes a generation of `count` cancelled tasks, with twice as many events, and one that ends
    /// it.
    private func finish(_ fixture: DeliveryFixture, _ count: Int = 1) async throws {
        for task in try await fixture.happen(count) {
            _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: task)
        }
    }

    private func token(_ message: ReceivedWebhook) throws -> AckToken {
        let body = try JSONDecoder().decode(Closing.self, from: Data(message.body))
        return try #require(AckToken(serialized: body.data.ack_token))
    }

    private struct Closing: Decodable {
        let data: Content

        struct Content: Decodable {
            let ack_token: String
            let dead_letters: Int?
        }
    }

    private func acknowledge(_ fixture: DeliveryFixture, _ token: AckToken) async throws -> Bool {
        try await fixture.stores.wakeUps.acknowledge(
            token,
            tenant: fixture.tenant,
            sessionIdentifier: "nightly"
        )
    }

    @Test func whatFollowsWaitsForTheAcknowledgement() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe(answers: [.status(202), .status(202), .status(202)])
        try await finish(fixture)
        try await fixture.withDispatcher { dispatcher in
            // 202 is an end for every other event.
            let first = try await fixture.receiver.messages(3)
            #expect(try first[2].event().type == "session.events_finished")
            _ = try await fixture.delivery {
                $0.lastStatus == 202 && $0.fence == nil && $0.attempt == 1
            }
            // From here on another subscription shows the progress of all the others.
            try await fixture.subscribe("/other")
            try await finish(fixture)
            dispatcher.wake(for: [.deliveries])
            _ = try await fixture.receiver.messages(3, at: "/other")
            #expect(fixture.receiver.received().count == 3)
            let token = try token(first[2])
            #expect(try await acknowledge(fixture, token))
            // This works only once.
            #expect(try await !acknowledge(fixture, token))
            dispatcher.wake(for: [.deliveries])
            let all = try await fixture.receiver.messages(6)
            #expect(try all.map { try $0.event().sequence } == [1, 2, 3, 4, 5, 6])
            // A token of the previous generation is not valid for this one.
            #expect(try self.token(all[5]) != token)
            #expect(try await !acknowledge(fixture, token))
        }
        let foreign = try self.token(fixture.receiver.received(at: "/other")[2])
        #expect(try await !acknowledge(fixture, foreign))
    }

    @Test func whatIsNotAcknowledgedInTimeIsDeliveredAgainAndAtLastGivenUp() async throws {
        let fixture = try await DeliveryFixture()
        let id = try await fixture.subscribe(answers: Array(repeating: .status(202), count: 5))
        try await finish(fixture)
        let twice = DeliverySchedule(waits: [.milliseconds(1)])
        try await fixture.withDispatcher(schedule: twice) { dispatcher in
            for count in 3...4 {
                _ = try await fixture.receiver.messages(count)
                _ = try await fixture.delivery {
                    $0.attempt == Int16(count - 2) && $0.fence == nil
                }
                try await fixture.execute("UPDATE delivery SET due_at = now()")
                dispatcher.wake(for: [.deliveries])
            }
            _ = try await fixture.delivery { $0.acknowledgedSequence == 3 }
        }
        let messages = fixture.receiver.received()
        #expect(try messages.map { try $0.event().sequence } == [1, 2, 3, 3])
        #expect(messages[2].id == messages[3].id)
        #expect(messages[2].body == messages[3].body)
        // It comes too late.
        #expect(try await !acknowledge(fixture, try token(messages[3])))
        let dead = try await fixture.stores.deliveryLog.logged(id, .dead, of: fixture.tenant)
        #expect(dead.first?.attempts.map(\.status) == [202, 202, nil])
        #expect(dead.first?.attempts.last?.reason == "not_acknowledged")
        // The receiver always answered, so that it is not failing.
        #expect(try await fixture.count("SELECT count(*) AS count FROM failure_streak") == 0)
    }

    @Test func anAcknowledgementMayOvertakeTheAnswer() async throws {
        let fixture = try await DeliveryFixture()
        let gate = OriginGate()
        let late = OriginScript([.wait(gate)] + OriginScript.response(202).steps)
        try await fixture.subscribe(answers: [.status(204), .status(204), .script(late)])
        try await finish(fixture)
        try await fixture.withDispatcher { dispatcher in
            let messages = try await fixture.receiver.messages(3)
            #expect(try await acknowledge(fixture, try token(messages[2])))
            gate.open()
            try await fixture.happen(1)
            dispatcher.wake(for: [.deliveries])
            let all = try await fixture.receiver.messages(4)
            #expect(try all.map { try $0.event().sequence } == [1, 2, 3, 4])
        }
    }

    @Test func nothingIsSentTwiceWhenAnAcknowledgementOvertakesThatItIsTaken() async throws {
        let fixture = try await DeliveryFixture()
        let gate = OriginGate()
        try await fixture.subscribe(answers: [.status(204), .status(204), .hold(gate)])
        for _ in 0..<2 { try await finish(fixture) }
        // Nothing is recorded but what has to be.
        try await fixture.withDispatcher({ $0.recordInterval = .seconds(3600) }) { dispatcher in
            let messages = try await fixture.receiver.messages(3)
            #expect(try await acknowledge(fixture, try token(messages[2])))
            dispatcher.wake(for: [.deliveries])
            // What follows is sent under another claim, to its end.
            _ = try await fixture.delivery { $0.acknowledgedSequence == 6 && $0.fence == nil }
            gate.open()
            try await fixture.happen(1)
            dispatcher.wake(for: [.deliveries])
            _ = try await fixture.receiver.messages(7)
        }
        let all = fixture.receiver.received()
        #expect(try all.map { try $0.event().sequence } == [1, 2, 3, 4, 5, 6, 7])
    }

    @Test func theEndTellsHowManyWereGivenUpBeforeIt() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe(
            answers: Array(repeating: .status(500), count: 4) + [.status(204), .status(204)]
        )
        // Dead deliveries of another generation do not count.
        try await finish(fixture, 1)
        let twice = DeliverySchedule(waits: [.milliseconds(1)])
        let messages = try await fixture.withDispatcher(schedule: twice) { _ in
            _ = try await fixture.receiver.messages(5)
            try await finish(fixture, 1)
            return try await fixture.receiver.messages(8)
        }
        #expect(try messages.map { try $0.event().sequence } == [1, 1, 2, 2, 3, 4, 5, 6])
        let ends = try messages.filter { try $0.event().type == "session.events_finished" }
        let counts = try ends.map {
            try JSONDecoder().decode(Closing.self, from: Data($0.body)).data.dead_letters
        }
        #expect(counts == [2, nil])
    }
}
