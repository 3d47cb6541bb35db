import Foundation
import Hummingbird
import StandardWebhooks
import Synchronization
import Testing
import TransferClient
import TransferHummingbird
import TransferTestSupport
import TransferWire

/// The receiver of webhooks as a route of Hummingbird, beside the built program.
@Suite(.timeLimit(.minutes(3))) struct WebhookRouteTests {
    /// Keeps the events, and lets the first barrier be acknowledged later.
    private final class Receiver: Sendable {
        let events = Mutex<[TransferEvent]>([])
        let acknowledgement = Mutex<WebhookAcknowledgement?>(nil)

        func take(_ event: WebhookEvent) -> WebhookAnswer {
            switch event {
            case .event(let event):
                events.withLock { $0.append(event) }
                return .done
            case .finished(let event, _, let acknowledgement):
                events.withLock { $0.append(event) }
                return self.acknowledgement.withLock { kept in
                    guard kept == nil else { return .done }
                    kept = acknowledgement
                    return .later
                }
            case .test: return .done
            }
        }

        func barriers() -> Int {
            events.withLock { $0.count { $0.message.type == "session.events_finished" } }
        }
    }

    @Test func takesTheDeliveriesOfASession() async throws {
        let stage = try await ClientStage()
        stage.origin.when("/file", .response(body: .text("bytes")))
        let receiver = Receiver()
        let handler = WebhookHandler(secrets: []) { receiver.take($0) }
        let server = try await HookServer(Router().webhooks("/hooks", handler: handler))
        defer { server.stop() }
        let forged = try APIClient(port: server.port, key: "none")
        #expect(await forged.status("POST", "/hooks", "{}") == 503)
        let session = stage.session()
        _ = try await stage.service.makeSession("s")
        let subscription = try await stage.service.subscribe(
            SubscriptionRequest(url: server.url("/hooks"), sessionIdentifier: "s")
        )
        let secret = try #require(subscription.secret.flatMap(SigningSecret.init(serialized:)))
        handler.replaceSecrets(with: [secret])
        #expect(await forged.status("POST", "/hooks", "{}") == 401)
        for count in 1...2 {
            let task = session.downloadTask(with: stage.origin.url("/file"))
            task.resume()
            _ = try await task.result()
            try await eventually("generation \(count) is finished") {
                receiver.barriers() == count
            }
            if let acknowledgement = receiver.acknowledgement.withLock({ $0 }), count == 1 {
                try await stage.service.acknowledge(acknowledgement)
            }
        }
        let sequences = receiver.events.withLock { $0.map(\.sequence) }
        #expect(sequences == Array(1...Int64(sequences.count)))
        try await session.close()
        await stage.end()
    }

    @Test func refusesAMessageThatIsTooLong() async throws {
        let handler = WebhookHandler(secrets: [.random()]) { _ in .done }
        let router = Router().webhooks("/hooks", handler: handler, bodyBytesMax: 100)
        let server = try await HookServer(router)
        defer { server.stop() }
        let client = try APIClient(port: server.port, key: "none")
        let long = String(repeating: "x", count: 101)
        #expect(await client.status("POST", "/hooks", long) == 413)
        #expect(await client.status("POST", "/hooks", "x") == 401)
    }
}
