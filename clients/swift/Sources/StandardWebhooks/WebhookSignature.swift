import Crypto
import Foundation

/// The signature of Standard Webhooks 1.0: HMAC-SHA256 of `id.timestamp.body`.
enum WebhookSignature {
    /// The mark of the symmetric scheme in a signature header, which may list those of other
    /// schemes.
    static let version = "v1"

    /// The names of the three headers, as the specification spells them.
    enum Header {
        static let id = "webhook-id"
        static let timestamp = "webhook-timestamp"
        static let signature = "webhook-signature"
    }

    /// Returns the unfinished code of one key, so that signer and verifier share what is signed.
    static func code(
        id: String,
        timestamp: Int64,
        body: [UInt8],
        secret: SigningSecret
    ) -> HMAC<SHA256> {
        var code = HMAC<SHA256>(key: SymmetricKey(data: secret.bytes))
        code.update(data: Array("\(id).\(timestamp).".utf8))
        code.update(data: body)
        return code
    }
}
