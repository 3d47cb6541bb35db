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
                let answer = self.acknowledgement.withLock { kept -> WebhookAnswer in
                    guard kept == nil else { return .done }
                    kept = acknowledgement
                    return .later
                }
                // Only now: the acknowledgement is used as soon as the barrier is counted.
                events.withLock { $0.append(event) }
                return answer
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
        let forged = HTTPClient(port: server.port, key: "none")
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
            if count == 1 {
                let acknowledgement = receiver.acknowledgement.withLock { $0 }
                try await stage.service.acknowledge(#require(acknowledgement))
            }
        }
        let sequences = receiver.events.withLock { $0.map(\.sequence) }
        #expect(sequences == Array(1...Int64(sequences.count)))
        try await session.close()
        await stage.end()
    }

    /// 2xx says that a message was dealt with, so that it comes after the program of the handler.
    @Test func respondsOnlyOnceItsProgramHasFinished() async throws {
        let secret = SigningSecret.random()
        let order = Mutex<[String]>([])
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let handler = WebhookHandler(secrets: [secret]) { _ in
            begin.finish()
            for await _ in gate {}
            order.withLock { $0.append("handled") }
            return .done
        }
        let server = try await HookServer(Router().webhooks("/hooks", handler: handler))
        defer { server.stop() }
        let client = HTTPClient(port: server.port, key: "none")
        let body = """
            {"id": "e", "type": "session.invalidated", "timestamp": "2026-03-01T12:00:00Z",
            "version": 1, "data": {"sequence": 1, "generation": 1}}
            """
        let fields = WebhookSigner(secrets: [secret]).headers(
            id: "m",
            timestamp: Int64(Date().timeIntervalSince1970),
            body: Array(body.utf8)
        ).map { ($0.name, $0.value) }
        let answer = Task {
            let status = try await client.send("POST", "/hooks", body, fields: fields).status
            order.withLock { $0.append("answered") }
            return status
        }
        for await _ in begun {}
        // What would have been answered by then has been.
        #expect(await client.status("POST", "/hooks", "{}") == 401)
        open.finish()
        #expect(try await answer.value == 204)
        #expect(order.withLock { $0 } == ["handled", "answered"])
    }

    @Test func refusesAMessageThatIsTooLong() async throws {
        let handler = WebhookHandler(secrets: [.random()]) { _ in .done }
        let router = Router().webhooks("/hooks", handler: handler, bodyBytesMax: 100)
        let server = try await HookServer(router)
        defer { server.stop() }
        let client = HTTPClient(port: server.port, key: "none")
        let long = String(repeating: "x", count: 101)
        #expect(await client.status("POST", "/hooks", long) == 413)
        #expect(await client.status("POST", "/hooks", "x") == 401)
    }
}
