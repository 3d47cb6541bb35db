/// What came of the revocation of an API key.
package enum RevocationResult: Equatable, Sendable {
    /// The key is revoked, perhaps since earlier.
    case revoked
    /// Nothing was changed, because it is the tenant's only good key with the scope `admin`.
    case lastAdministrator
    /// The tenant has no such key.
    case unknown
}
