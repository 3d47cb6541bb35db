package import Foundation

/// Where a tenant wants its events delivered.
package struct Subscription: Sendable {
    package let id: SubscriptionID
    package let tenant: TenantID
    /// Nil for the events of all sessions of the tenant.
    package let sessionIdentifier: String?
    package let url: String
    /// Nil for every kind.
    package let kinds: [SessionEvent.Kind]?
    package let createdAt: Date

    package init(
        id: SubscriptionID,
        tenant: TenantID,
        sessionIdentifier: String?,
        url: String,
        kinds: [SessionEvent.Kind]?,
        createdAt: Date
    ) {
        self.id = id
        self.tenant = tenant
        self.sessionIdentifier = sessionIdentifier
        self.url = url
        self.kinds = kinds
        self.createdAt = createdAt
    }
}

/// The key that signs a subscription's messages; shown once, when it is created.
package struct SigningSecret: Sendable, CustomStringConvertible {
    /// Standard Webhooks 1.0 asks for 24 to 64 random bytes.
    package static let byteCount = 32

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
