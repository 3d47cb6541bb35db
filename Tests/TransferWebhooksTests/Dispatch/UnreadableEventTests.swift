import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWebhooks
import TransferWire

/// Events that this release cannot read are told and given up, and hold up no others.
@Suite(.postgresSchema, .timeLimit(.minutes(5)))
struct UnreadableEventTests {
    private func sequences(_ fixture: DeliveryFixture, at path: String) throws -> [Int64] {
        try fixture.receiver.received(at: path).map {
            try JSONDecoder().decode(EventMessage.self, from: Data($0.body)).data.sequence
        }
    }

    /// Writes three events of which the second cannot be read, as if a later release had written
    /// it.
    private func happen(_ fixture: DeliveryFixture) async throws {
        for _ in 0..<3 { try await fixture.happen(1) }
        try await fixture.execute(
            "UPDATE event_run SET kind = 'task.of_the_future' WHERE last_sequence = 2"
        )
    }

    @Test func isGivenUpAfterAWhileAndTheNextOneIsSent() async throws {
        let fixture = try await DeliveryFixture()
        let id = try await fixture.subscribe()
        try await happen(fixture)
        try await fixture.withDispatcher { _ in _ = try await fixture.receiver.messages(2) }
        #expect(try sequences(fixture, at: "/hook") == [1, 3])
        let page = try #require(
            try await fixture.stores.deliveryLog.deliveries(
                tenant: fixture.tenant,
                subscription: id,
                state: .dead,
                before: nil,
                limit: 10
            )
        )
        // Its kind makes the entry of the log as unreadable as itself.
        #expect(page.items.isEmpty)
        #expect(page.unreadable.count == 1)
        try await fixture.execute("UPDATE event_run SET kind = 'task.created'")
        let dead = try await fixture.stores.deliveryLog.logged(id, .dead, of: fixture.tenant)
        #expect(dead.map(\.sequence) == [2])
        #expect(dead.first?.attempts.count == 4)
        #expect(dead.first?.attempts.allSatisfy { $0.reason == "unreadable_event" } == true)
        // The receiver is not at fault, and gets it once somebody can read it.
        #expect(try await fixture.count("SELECT count(*) AS count FROM failure_streak") == 0)
        let first = try #require(dead.first)
        _ = try await fixture.stores.deliveryLog.replay(tenant: fixture.tenant, id: first.id)
        try await fixture.withDispatcher { _ in _ = try await fixture.receiver.messages(3) }
        #expect(try sequences(fixture, at: "/hook") == [1, 3, 2])
    }

    @Test func aReplayOfItFailsAndIsLogged() async throws {
        let fixture = try await DeliveryFixture()
        let id = try await fixture.subscribe()
        try await happen(fixture)
        try await fixture.withDispatcher { _ in _ = try await fixture.receiver.messages(2) }
        #expect(
            try await fixture.stores.deliveryLog.recover(
                tenant: fixture.tenant,
                subscription: id,
                since: .distantPast,
                until: nil
            ) == 1
        )
        try await fixture.withDispatcher { _ in
            try await eventually("the replay has ended") {
                try await fixture.count(
                    "SELECT count(*) AS count FROM delivery_log WHERE replay_due_at IS NOT NULL"
                ) == 0
            }
        }
        #expect(
            try await fixture.count(
                """
                SELECT count(*) AS count FROM delivery_attempt
                WHERE is_replay AND reason = 'unreadable_event'
                """
            ) == 1
        )
    }

    @Test func oneOfAKindThatIsNotAskedForIsPassedOver() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe("/asks") { $0.filter = EventFilter(["task.cancelled"]) }
        let tasks = try await fixture.happen(2)
        try await fixture.execute(
            """
            UPDATE event_run SET failures = ARRAY[
                '{"code": "of_the_future", "message": "?"}', NULL]::jsonb[]
            """
        )
        for task in tasks {
            _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: task)
        }
        // The first would wait for an hour if the creation of the tasks were waited for.
        let patient = DeliverySchedule(waits: [.seconds(3600)])
        try await fixture.withDispatcher(schedule: patient) { _ in
            _ = try await fixture.receiver.messages(2, at: "/asks")
        }
        #expect(try sequences(fixture, at: "/asks") == [3, 4])
    }
}
