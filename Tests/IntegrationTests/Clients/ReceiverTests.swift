import ChildProcess
import Foundation
import StandardWebhooks
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// The receivers of `docs/clients.md`: each accepts what is authentic, and nothing else.
@Suite(.timeLimit(.minutes(5))) struct ReceiverTests {
    private static let body = Array(#"{"type": "good", "text": "\u00e9 é"}"#.utf8)
    private static let bad = Array(#"{"type": "bad"}"#.utf8)

    /// A message that none of them may accept, and why.
    private static func forgeries(_ secret: SigningSecret, at now: Int64) -> [String: Message] {
        let good = Message(secret, at: now, bad)
        var forgeries = [
            "another secret": Message(.random(), at: now, bad),
            "too old": Message(secret, at: now - 310, bad),
            "from the future": Message(secret, at: now + 310, bad),
            "other bytes": Message(fields: Message(secret, at: now, body).fields, body: bad),
            "no fields": Message(fields: [], body: bad),
        ]
        for (name, change) in [
            "another identifier": ("webhook-id", "other"),
            "another time": ("webhook-timestamp", String(now - 1)),
            "a time that is none": ("webhook-timestamp", "soon"),
            "no signature": ("webhook-signature", ""),
            "half of a signature": ("webhook-signature", "v1"),
            "no bytes in it": ("webhook-signature", "v1,"),
            "nothing that is a signature": ("webhook-signature", "v1,???? , ,v1 é"),
            "another version": (
                "webhook-signature", good.signature.replacing("v1,", with: "v2,")
            ),
        ] {
            let fields = good.fields.map { $0.0 == change.0 ? change : $0 }
            forgeries[name] = Message(fields: fields, body: bad)
        }
        return forgeries
    }

    @Test(arguments: ReceiverLanguage.allCases) func acceptsOnlyWhatIsAuthentic(
        _ language: ReceiverLanguage
    ) async throws {
        let directory = try DataDirectory()
        let service = try await ServiceProcess(in: directory)
        let key = try directory.apiKey()
        let folder = try TestFolder("receiver")
        let held = try HeldPort()
        defer { withExtendedLifetime(held) {} }
        let port = Int(held.number)
        let subscription = try await service.client(key: key).subscribe(
            SubscriptionRequest(url: "http://127.0.0.1:\(port)/")
        )
        let serialized = try #require(subscription.secret)
        let secret = try #require(SigningSecret(serialized: serialized))
        let receiver = try await language.start(
            on: port,
            secret: serialized,
            in: folder,
            output: "output"
        )
        defer { receiver.kill() }
        let sender = HTTPClient(port: port, key: "none")
        try await eventually("it listens") { await sender.status("POST", "/", "{}") == 401 }

        let now = Int64(Date().timeIntervalSince1970)
        for (name, message) in Self.forgeries(secret, at: now) {
            #expect(try await message.send(by: sender) == 401, "\(name)")
        }
        let rotating = Message([.random(), secret], at: now - 280, Self.body)
        for message in [Message(secret, at: now, Self.body), rotating] {
            #expect(try await message.send(by: sender) == 204)
        }
        let tested = try await HTTPClient(service, key: key).send(
            "POST",
            "/v1/subscriptions/\(subscription.id)/test"
        )
        let attempt = try JSONDecoder().decode(
            DeliveryAttemptDocument.self,
            from: Data(tested.body)
        )
        #expect(attempt.status == 204)
        let printed = try String(contentsOfFile: "\(folder.path)/output", encoding: .utf8)
        let lines = printed.split(separator: "\n")
        #expect(lines.count == 3 && !printed.contains(#""bad""#), "\(printed)")
        #expect(lines.last?.contains("subscription.test") == true)
        #expect(await service.terminate() == 0)
    }

    private struct Message {
        let fields: [(String, String)]
        let body: [UInt8]

        init(fields: [(String, String)], body: [UInt8]) {
            self.fields = fields
            self.body = body
        }

        init(_ secrets: [SigningSecret], at time: Int64, _ body: [UInt8]) {
            let headers = WebhookSigner(secrets: secrets).headers(
                id: "msg_1",
                timestamp: time,
                body: body
            )
            self.init(fields: headers.map { ($0.name, $0.value) }, body: body)
        }

        init(_ secret: SigningSecret, at time: Int64, _ body: [UInt8]) {
            self.init([secret], at: time, body)
        }

        var signature: String { fields.first { $0.0 == "webhook-signature" }?.1 ?? "" }

        func send(by client: HTTPClient) async throws -> Int {
            let text = String(decoding: body, as: UTF8.self)
            return try await client.send("POST", "/", text, fields: fields).status
        }
    }
}
