package import TransferModel

/// What is kept of an API key.
package struct StoredAPIKey: Sendable {
    package let tenant: TenantID
    package let secretSHA256: [UInt8]
    package let isRevoked: Bool
}
