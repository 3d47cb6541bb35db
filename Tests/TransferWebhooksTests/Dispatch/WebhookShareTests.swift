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
}
