package import Foundation
package import TransferModel

/// An API key to be stored, without its secret.
package struct NewAPIKey: Sendable {
    /// The public identifier.
    package let id: String
    /// The SHA-256 hash of the secret.
    package let secretSHA256: [UInt8]
    /// The words that say what the key is for.
    package let name: String
    /// The parts of the API that the key may use.
    package let scopes: Set<KeyScope>
    /// The time from which the key is refused; nil for never.
    package let expiresAt: Date?
    /// The most requests with it in a second to each instance; nil for any number.
    package let requestsPerSecondMax: Int?

    package init(
        id: String,
        secretSHA256: [UInt8],
        name: String,
        scopes: Set<KeyScope> = KeyScope.defaults,
        expiresAt: Date? = nil,
        requestsPerSecondMax: Int? = nil
    ) {
        self.id = id
        self.secretSHA256 = secretSHA256
        self.name = name
        self.scopes = scopes
        self.expiresAt = expiresAt
        self.requestsPerSecondMax = requestsPerSecondMax
    }

    /// The longest name, in bytes.
    package static let nameBytesMax = 255
    /// The rule for names, in words.
    package static let nameRule =
        "Must be 1 to \(nameBytesMax) bytes of text without control characters."

    /// Returns whether `text` may be the name of a key.
    package static func isName(_ text: String) -> Bool {
        (1...nameBytesMax).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }
}
