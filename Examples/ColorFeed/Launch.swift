import Foundation
import StandardWebhooks

/// What a `background_task.launch` says.
struct Launch: Decodable, Sendable {
    let runID: String
    let identifier: String

    private enum CodingKeys: String, CodingKey {
        case identifier
        case runID = "run_id"
    }
}

/// The secret by which a webhook is known to come from transferd.
actor SubscriptionSecret {
    private struct Event: Decodable {
        struct Content: Decodable {
            let background_task: Launch?
        }

        let data: Content
    }

    private var verifier: WebhookVerifier?

    func set(_ secret: String) {
        verifier = SigningSecret(serialized: secret).map { WebhookVerifier(secrets: [$0]) }
    }

    /// Returns the launch that an authentic message tells of; nil for anything else.
    func launch(headers: [(name: String, value: String)], body: [UInt8]) throws -> Launch? {
        try verifier?.verify(headers: headers, body: body)
        guard verifier != nil else { return nil }
        return try JSONDecoder().decode(Event.self, from: Data(body)).data.background_task
    }
}
