package import TransferModel

/// The stored part of an API key.
package struct StoredAPIKey: Sendable {
    /// The tenant that the key belongs to.
    package let tenant: TenantID
    /// The SHA-256 hash of the key's secret.
    package let secretSHA256: [UInt8]
    /// Whether the key was revoked.
    package let isRevoked: Bool
}
