import Foundation

/// A key that signs a subscription's messages; shown once, when it is made.
package struct SigningSecret: Sendable, CustomStringConvertible {
    /// Standard Webhooks 1.0 asks for 24 to 64 random bytes.
    package static let byteCount = 32
    /// Keys of one subscription that sign at the same time.
    package static let livingMax = 10
    /// How long the keys before a new one go on signing, unless its owner says otherwise.
    package static let overlapDefault: Duration = .seconds(24 * 3600)
    /// The longest they can.
    package static let overlapMax: Duration = .seconds(7 * 24 * 3600)

    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }

    /// Draws a new secret from the system's random source.
    package static func random() -> SigningSecret {
        var generator = SystemRandomNumberGenerator()
        return SigningSecret(bytes: (0..<byteCount).map { _ in generator.next() })
    }

    /// `whsec_` and the base64 of the bytes, as Standard Webhooks 1.0 serializes it.
    package var serialized: String { "whsec_" + Data(bytes).base64EncodedString() }

    /// Redacted.
    package var description: String { "whsec_***" }
}
