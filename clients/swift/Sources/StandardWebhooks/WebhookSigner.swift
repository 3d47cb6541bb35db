import Crypto
import Foundation

/// A signer of messages by Standard Webhooks 1.0.
public struct WebhookSigner: Sendable {
    /// The most keys that sign one message.
    public static let secretsMax = 10

    private let secrets: [SigningSecret]

    /// Creates a signer with one key, or during a rotation with several, of which a receiver knows
    /// one.
    ///
    /// - Parameter secrets: from the newest; 1 to ``secretsMax``.
    public init(secrets: [SigningSecret]) {
        precondition((1...Self.secretsMax).contains(secrets.count), "1 to 10 secrets")
        self.secrets = secrets
    }

    /// Returns the three headers of one attempt to deliver a message.
    ///
    /// - Parameters:
    ///   - id: the message's identifier, the same at every attempt; without a `.`.
    ///   - timestamp: seconds since 1970, of this attempt.
    ///   - body: the bytes exactly as they will be sent.
    /// - Returns: names and values, to be sent as they are.
    public func headers(
        id: String,
        timestamp: Int64,
        body: [UInt8]
    ) -> [(name: String, value: String)] {
        precondition(!id.utf8.contains(UInt8(ascii: ".")), "the id of a message has no dot")
        let signatures = secrets.map { secret in
            let code = WebhookSignature.code(
                id: id,
                timestamp: timestamp,
                body: body,
                secret: secret
            ).finalize()
            return "\(WebhookSignature.version),\(Data(code).base64EncodedString())"
        }
        return [
            (WebhookSignature.Header.id, id),
            (WebhookSignature.Header.timestamp, String(timestamp)),
            (WebhookSignature.Header.signature, signatures.joined(separator: " ")),
        ]
    }
}
