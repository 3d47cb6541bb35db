import Foundation

/// A key that signs messages, known to the sender and the receiver alone.
public struct SigningSecret: Sendable, CustomStringConvertible {
    /// The length of a drawn key in bytes; Standard Webhooks 1.0 asks for 24 to 64 random bytes.
    public static let byteCount = 32

    private static let prefix = "whsec_"

    /// The key itself.
    public let bytes: [UInt8]

    /// Creates a secret from the bytes of its key.
    public init(bytes: [UInt8]) { self.bytes = bytes }

    /// Reads the text of ``serialized``.
    ///
    /// - Returns: nil when it is not `whsec_` and the base64 of 24 to 64 bytes.
    public init?(serialized: String) {
        guard serialized.hasPrefix(Self.prefix),
            let data = Data(base64Encoded: String(serialized.dropFirst(Self.prefix.count))),
            (24...64).contains(data.count)
        else { return nil }
        self.init(bytes: Array(data))
    }

    /// Draws a new secret from the system's random source.
    public static func random() -> SigningSecret {
        var generator = SystemRandomNumberGenerator()
        return SigningSecret(bytes: (0..<byteCount).map { _ in generator.next() })
    }

    /// The text `whsec_` and the base64 of the bytes, as Standard Webhooks 1.0 serializes it.
    public var serialized: String { Self.prefix + Data(bytes).base64EncodedString() }

    /// A redacted description.
    public var description: String { "whsec_***" }
}
