import Foundation
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWebhooks

/// The receivers of events that report the progress of a task.
@Suite(.postgresSchema, .timeLimit(.minutes(1))) struct WebhookProgressTests {
    @Test func progressIsSentOnlyToThoseWhoNameIt() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe("/all")
        try await fixture.subscribe("/named") { $0.filter = EventFilter(["task.progress"]) }
        let task = try await fixture.happen(1)[0]
        try await fixture.withDispatcher { _ in
            _ = try await fixture.receiver.messages(1, at: "/all")
            try await eventually("nothing is left to deliver") {
                try await fixture.deliveries().allSatisfy { $0.wait == nil }
            }
        }
        let worker = WorkerIdentity(
            incarnation: try await fixture.stores.workers.registerWorker(name: "engine")
        )
        let claims = try await fixture.stores.queue.claimAny(1, by: worker)
        let isTold = try await fixture.stores.parts.recordProgress(
            claims.map {
                AttemptProgress(
                    task: $0.task,
                    fence: $0.fence,
                    bytesReceived: 5,
                    bytesExpected: nil,
                    isTold: true
                )
            }
        )
        #expect(isTold)
        // No other delivery is woken for it.
        #expect(try await fixture.deliveries().count { $0.wait != nil } == 1)
        _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: task)
        try await fixture.withDispatcher { _ in
            _ = try await fixture.receiver.messages(3, at: "/all")
            _ = try await fixture.receiver.messages(1, at: "/named")
            try await eventually("nothing is left to deliver") {
                try await fixture.deliveries().allSatisfy { $0.wait == nil }
            }
        }
        let all = try fixture.receiver.received(at: "/all").map { try $0.event().type }
        #expect(all == ["task.created", "task.cancelled", "session.events_finished"])
        let named = fixture.receiver.received(at: "/named")
        #expect(try named.map { try $0.event().type } == ["task.progress"])
        let text = String(decoding: try #require(named.first).body, as: UTF8.self)
        #expect(text.contains(#""count_of_bytes_expected_to_receive":-1"#))
    }
}
