import Foundation
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWebhooks

/// Receivers beside many that never answer.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct WebhookShareTests {
    /// Subscribes `count` receivers to every session of the tenant, none of which ever answers.
    private func silence(_ fixture: DeliveryFixture, _ count: Int) async throws -> OriginGate {
        let gate = OriginGate()
        for number in 0..<count {
            try await fixture.subscribe(
                "/silent-\(number)",
                answers: Array(repeating: .hold(gate), count: 100)
            )
        }
        return gate
    }

    @Test func silentReceiversOfOneTenantDelayNoOtherTenant() async throws {
        let fixture = try await DeliveryFixture()
        let gate = try await silence(fixture, 200)
        let other = try await fixture.anotherTenant()
        // Receivers at one host share slots, whosever they are.
        let url = fixture.receiver.open("/other")
            .replacingOccurrences(of: "127.0.0.1", with: "localhost")
        try await fixture.subscribe(url: url, tenant: other)
        try await fixture.happen(1)
        try await fixture.withDispatcher({
            $0.shutdownGrace = .zero
            // The silent ones keep their slots.
            $0.overdueMax = 0
            // No silent one is given up, and tried again, before the others have theirs.
            $0.messageTimeout = .seconds(60)
            $0.lease = .seconds(300)
        }) { _ in
            try await eventually("the silent ones have what they may have") {
                fixture.receiver.log.now.requestsOpen >= 96
            }
            for number in 0..<5 {
                try await fixture.happen(1, in: "session-\(number)", tenant: other)
                _ = try await fixture.receiver.messages(number + 1, at: "/other")
            }
            // No silent one had to end for that: another would have taken its slot.
            let silent = fixture.receiver.log.now.requests.filter { $0.path != "/other" }
            #expect(silent.count == 96)
        }
        gate.open()
    }

    @Test func silentReceiversDoNotDelayAQuickOneOfTheirTenant() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe("/quick", session: "own")
        try await fixture.withDispatcher({ $0.shutdownGrace = .zero }) { _ in
            try await fixture.happen(1, in: "own")
            _ = try await fixture.receiver.messages(1, at: "/quick")
            let gate = try await silence(fixture, 200)
            try await fixture.happen(1)
            try await eventually("the silent ones have what they may have") {
                fixture.receiver.log.now.requestsOpen >= 96
            }
            try await fixture.happen(1, in: "own")
            _ = try await fixture.receiver.messages(2, at: "/quick")
            gate.open()
        }
    }

    @Test func pairsWhoseEventsAreNotAskedForNeedNoSlot() async throws {
        let fixture = try await DeliveryFixture()
        let gate = OriginGate()
        try await fixture.subscribe(answers: [.hold(gate)]) {
            $0.filter = EventFilter(["task.cancelled"])
            $0.concurrency = 1
        }
        let task = try await fixture.happen(1, in: "cancelled")[0]
        _ = try await fixture.stores.control.cancelTask(tenant: fixture.tenant, id: task)
        try await fixture.withDispatcher({
            $0.shutdownGrace = .zero
            $0.messageTimeout = .seconds(60)
            $0.lease = .seconds(300)
        }) { _ in
            try await eventually("the only slot is taken") {
                fixture.receiver.log.now.requestsOpen == 1
            }
            try await fixture.happen(1)
            try await eventually("the other pair is idle") {
                try await fixture.deliveries().contains { $0.wait == nil }
            }
        }
        gate.open()
    }

    @Test func pairsThatFindNoPlaceWaitWithoutAClaim() async throws {
        let fixture = try await DeliveryFixture()
        let gate = OriginGate()
        try await fixture.subscribe(answers: [.hold(gate)])
        for number in 0..<8 { try await fixture.happen(1, in: "session-\(number)") }
        try await fixture.withDispatcher({
            $0.shutdownGrace = .zero
            $0.perSubscriptionMax = 1
            $0.waitingMax = 2
            $0.messageTimeout = .seconds(60)
            $0.lease = .seconds(300)
            // None returns within the test.
            $0.postponementMin = .seconds(900)
        }) { _ in
            try await eventually("one is delivered, two wait for its place, and five for later") {
                try await fixture.deliveries().count { $0.fence == nil && ($0.wait ?? 0) > 600 }
                    == 5
            }
            let claimed = try await fixture.deliveries().count { $0.fence != nil }
            #expect(claimed == 3)
        }
        gate.open()
    }
}
