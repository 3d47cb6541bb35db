import Foundation
import Glibc
import Postgres
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// `transferctl deliveries` for a message that the service has given up.
@Suite(.timeLimit(.minutes(3))) struct DeadDeliveryTests {
    /// The attempts after which a message is given up (docs/webhooks.md).
    private static let attemptsMax = 10

    @Test func replaysAMessageThatWasGivenUp() async throws {
        let stage = try await TransferctlStage()
        defer { stage.origin.stop() }
        stage.origin.when("/file", .response(body: .text("file")))
        let receiver = try WebhookReceiver()
        let url = receiver.open(
            answers: Array(repeating: .status(500), count: Self.attemptsMax)
        )
        let client = try stage.service.client(key: stage.directory.apiKey())
        try await client.makeSession("s")
        _ = try await client.subscribe(
            SubscriptionRequest(url: url, eventTypes: ["task.completed"])
        )
        _ = try await client.submit([stage.origin.url("/file")], to: "s")
        try await passThreeDays(of: stage, until: receiver)

        let listed = try await stage.run(["subscriptions", "--json"])
        let subscription = try JSONDecoder().decode(
            SubscriptionDocument.self,
            from: Data(listed.output.utf8)
        ).id
        let dead = ["deliveries", "list", subscription, "--state", "dead", "--json"]
        var delivery: DeliveryDocument?
        try await eventually("it is given up") {
            let output = try await stage.run(dead).output
            delivery = try? JSONDecoder().decode(DeliveryDocument.self, from: Data(output.utf8))
            return delivery != nil
        }
        let found = try #require(delivery)
        #expect(found.attempts.map(\.status) == Array(repeating: 500, count: Self.attemptsMax))
        #expect(found.eventType == "task.completed")

        let replayed = try await stage.run(["deliveries", "replay", found.id])
        #expect(replayed.status == 0 && replayed.output.hasPrefix(found.id))
        let messages = try await receiver.messages(Self.attemptsMax + 1)
        #expect(Set(messages.map(\.id)).count == 1)
        try await eventually("it is delivered") {
            let rows = try await stage.run(["deliveries", subscription]).output
            return rows.split(separator: "\n").count == 2 && rows.contains("delivered")
        }
        #expect(try await stage.run(dead).output.isEmpty)
        #expect(try await stage.run(["deliveries", "replay", UUID().uuidString]).status == 2)
        #expect(await stage.service.terminate() == 0)
    }

    /// Makes each attempt due as soon as the one before has failed.
    private func passThreeDays(
        of stage: TransferctlStage,
        until receiver: WebhookReceiver
    ) async throws {
        let aside = try await TestDatabase.connection(to: stage.directory.databaseURL)
        try await eventually("all attempts have failed", within: .seconds(90)) {
            for statement in [
                "UPDATE delivery SET due_at = now() WHERE due_at > now() AND fence IS NULL",
                "UPDATE failure_streak SET paused_until = now() WHERE paused_until > now()",
            ] { try await aside.executeScript(statement) }
            return receiver.received().count >= Self.attemptsMax
        }
        await aside.close()
    }
}
