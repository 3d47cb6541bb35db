import Foundation
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWebhooks

@Suite(.postgresSchema) struct WebhookClientTests {
    private static let share = ClientID(stored: "share")

    @Test func nothingIsSentOfAForceQuitClientAndAllInOrderAfterItsLaunch() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.subscribe()
        _ = try await fixture.stores.clients.putClient(
            tenant: fixture.tenant,
            id: Self.share,
            kind: .app
        )
        try await fixture.happen(2, of: Self.share)
        try await fixture.withDispatcher { _ in
            _ = try await fixture.receiver.messages(2)
            _ = try await fixture.stores.clients.forceQuit(tenant: fixture.tenant, id: Self.share)
            // The messages about another client show that claims were made.
            try await fixture.happen(3)
            try await eventually("the other client is told") {
                Self.told(fixture, of: "default").count == 3
            }
            #expect(Self.told(fixture, of: "share") == ["task.created", "task.created"])
            _ = try await fixture.stores.clients.launch(tenant: fixture.tenant, id: Self.share)
            try await eventually("the client is told") {
                Self.told(fixture, of: "share").count == 5
            }
            #expect(
                Self.told(fixture, of: "share") == [
                    "task.created", "task.created", "task.cancelled", "task.cancelled",
                    "session.events_finished",
                ]
            )
        }
    }

    /// Returns the types of a client's messages, without repeated ones.
    private static func told(_ fixture: DeliveryFixture, of client: String) -> [String] {
        var seen: Set<String> = []
        return fixture.receiver.received().filter { message in
            String(decoding: message.body, as: UTF8.self).contains(#""client":"\#(client)""#)
                && seen.insert(message.id).inserted
        }.compactMap { try? $0.event().type }
    }
}
