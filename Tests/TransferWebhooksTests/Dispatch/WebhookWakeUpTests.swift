import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWebhooks

/// Receivers that must not be woken often.
@Suite(.postgresSchema, .timeLimit(.minutes(5)))
struct WebhookWakeUpTests {
    /// Ends a generation of a session.
    private func finish(_ session: String, _ fixture: DeliveryFixture) async throws {
        for task in try await fixture.happen(1, in: session) {
            _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: task)
        }
    }

    private func finished(_ fixture: DeliveryFixture) throws -> [String] {
        try fixture.receiver.received().map { try $0.event() }
            .filter { $0.type == "session.events_finished" }.map(\.session)
    }

    @Test func theNextWakeUpWaitsAndNothingOfOtherSessionsDoes() async throws {
        let fixture = try await DeliveryFixture()
        let id = try await fixture.subscribe { $0.throttlesWakeUps = true }
        try await finish("a", fixture)
        try await fixture.withDispatcher { _ in
            _ = try await fixture.receiver.messages(3)
            try await finish("b", fixture)
            try await fixture.happen(1, in: "c")
            // All messages but the end of `b`.
            _ = try await fixture.receiver.messages(6)
            try await eventually("it is set to wait") {
                try await fixture.deliveries().contains { $0.fence == nil && ($0.wait ?? 0) > 30 }
            }
        }
        #expect(try finished(fixture) == ["a"])
        // Another instance observes the same limit, and no other try counts.
        try await fixture.execute("UPDATE delivery SET due_at = now() WHERE due_at IS NOT NULL")
        try await fixture.withDispatcher { _ in
            try await eventually("it is set to wait again") {
                try await fixture.deliveries().contains { $0.fence == nil && ($0.wait ?? 0) > 30 }
            }
            #expect(try await fixture.deliveries().allSatisfy { $0.attempt == 0 })
            var change = SubscriptionChange()
            change.throttlesWakeUps = false
            _ = try await fixture.stores.subscriptions.changeSubscription(
                tenant: fixture.tenant,
                id: id,
                change
            )
            _ = try await fixture.receiver.messages(7)
        }
        #expect(try finished(fixture) == ["a", "b"])
    }

    @Test func whoDoesNotAskForItIsWokenEachTime() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe()
        for session in ["a", "b", "c"] { try await finish(session, fixture) }
        try await fixture.withDispatcher { _ in _ = try await fixture.receiver.messages(9) }
        #expect(try finished(fixture).sorted() == ["a", "b", "c"])
        #expect(try await fixture.count("SELECT count(*) AS count FROM wake_up") == 0)
    }

    @Test func aRetryDoesNotWaitForTheWakeUpOfAnotherSession() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe(answers: [.status(204), .status(204), .status(500)]) {
            $0.throttlesWakeUps = true
        }
        try await finish("a", fixture)
        let schedule = DeliverySchedule(waits: [.seconds(3600)])
        try await fixture.withDispatcher(schedule: schedule) { _ in
            _ = try await fixture.receiver.messages(3)
            try await eventually("it waits for its next try") {
                try await fixture.deliveries().contains { $0.fence == nil && $0.attempt == 1 }
            }
            try await fixture.execute("UPDATE wake_up SET sent_at = sent_at - interval '1 h'")
            try await finish("b", fixture)
            _ = try await fixture.receiver.messages(6)
            try await fixture.execute(
                "UPDATE delivery SET due_at = now() WHERE fence IS NULL AND attempt = 1"
            )
            try await eventually("the first one is woken again") {
                try finished(fixture).count == 3
            }
        }
        #expect(try finished(fixture) == ["a", "b", "a"])
        #expect(try await fixture.count("SELECT count::bigint AS count FROM wake_up") == 2)
    }

    @Test func aWakeUpThatFailsIsTriedAgainAsAnyMessage() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe(answers: [.status(204), .status(204), .status(500)]) {
            $0.throttlesWakeUps = true
        }
        try await finish("a", fixture)
        let messages = try await fixture.withDispatcher { _ in
            try await fixture.receiver.messages(4)
        }
        #expect(messages[2].id == messages[3].id)
    }
}
