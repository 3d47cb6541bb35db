package import Foundation
package import TransferModel

/// What is listed of an API key.
package struct APIKeyRecord: Sendable {
    /// The public identifier.
    package let id: String
    /// The words that say what the key is for.
    package let name: String
    /// The parts of the API that the key may use.
    package let scopes: Set<KeyScope>
    package let createdAt: Date
    /// The time of the last use, to about a minute; nil for never.
    package let lastUsedAt: Date?
    /// The time from which the key is refused; nil for never.
    package let expiresAt: Date?
    /// The time at which the key was revoked; nil while it is not.
    package let revokedAt: Date?
    /// The most requests with it in a second to each instance; nil for any number.
    package let requestsPerSecondMax: Int?
}
