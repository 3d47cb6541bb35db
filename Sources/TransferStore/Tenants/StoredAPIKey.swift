package import Foundation
package import TransferModel

/// The stored part of an API key.
package struct StoredAPIKey: Sendable {
    /// The tenant that the key belongs to.
    package let tenant: TenantID
    /// The SHA-256 hash of the key's secret.
    package let secretSHA256: [UInt8]
    /// The parts of the API that the key may use.
    package let scopes: Set<KeyScope>
    /// Whether the key was revoked.
    package let isRevoked: Bool
    /// The time until the key expires, by the database's clock; nil for never.
    package let expiresIn: Duration?
    /// The time from which the key is refused; nil for never.
    package let expiresAt: Date?
    /// Whether the recorded last use is at least ``KeyStore/useInterval`` ago.
    package let isUseDue: Bool
    /// The requests that the tenant may send to an instance in a second; nil for any number.
    package let requestsPerSecondMax: Int?
    /// The requests with this key to an instance in a second; nil for any number.
    package let ownRequestsPerSecondMax: Int?
    /// Whether the tenant was made for tests.
    package let isForTests: Bool

    package init(
        tenant: TenantID,
        secretSHA256: [UInt8],
        scopes: Set<KeyScope> = KeyScope.defaults,
        isRevoked: Bool = false,
        expiresIn: Duration? = nil,
        expiresAt: Date? = nil,
        isUseDue: Bool = false,
        requestsPerSecondMax: Int? = nil,
        ownRequestsPerSecondMax: Int? = nil,
        isForTests: Bool = false
    ) {
        self.tenant = tenant
        self.secretSHA256 = secretSHA256
        self.scopes = scopes
        self.isRevoked = isRevoked
        self.expiresIn = expiresIn
        self.expiresAt = expiresAt
        self.isUseDue = isUseDue
        self.requestsPerSecondMax = requestsPerSecondMax
        self.ownRequestsPerSecondMax = ownRequestsPerSecondMax
        self.isForTests = isForTests
    }
}
