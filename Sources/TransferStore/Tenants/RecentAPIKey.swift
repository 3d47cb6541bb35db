package import TransferModel

/// A good key that was used lately, with what its secret is compared with.
package struct RecentAPIKey: Sendable {
    /// The public identifier.
    package let id: String
    /// The tenant that the key belongs to.
    package let tenant: TenantID
    /// The SHA-256 hash of the key's secret.
    package let secretSHA256: [UInt8]

    package init(id: String, tenant: TenantID, secretSHA256: [UInt8]) {
        self.id = id
        self.tenant = tenant
        self.secretSHA256 = secretSHA256
    }
}
