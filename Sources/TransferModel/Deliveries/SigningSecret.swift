import Foundation

/// A key that signs a subscription's messages; shown once, when it is made.
package struct SigningSecret: Sendable, CustomStringConvertible {
    /// The length of a key in bytes; Standard Webhooks 1.0 asks for 24 to 64 random bytes.
    package static let byteCount = 32
    /// The most keys of one subscription that sign at the same time.
    package static let livingMax = 10
    /// The time for which older keys keep signing beside a new one, unless the owner says
    /// otherwise.
    package static let overlapDefault: Duration = .seconds(24 * 3600)
    /// The longest time for which older keys can keep signing.
    package static let overlapMax: Duration = .seconds(7 * 24 * 3600)

    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }

    /// Draws a new secret from the system's random source.
    package static func random() -> SigningSecret {
        var generator = SystemRandomNumberGenerator()
        return SigningSecret(bytes: (0..<byteCount).map { _ in generator.next() })
    }

    /// The text `whsec_` and the base64 of the bytes, as Standard Webhooks 1.0 serializes it.
    package var serialized: String { "whsec_" + Data(bytes).base64EncodedString() }

    /// A redacted description.
    package var description: String { "whsec_***" }
}
