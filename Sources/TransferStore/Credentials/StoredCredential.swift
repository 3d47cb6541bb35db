import Postgres
package import TransferModel

/// A credential with the secrets needed to show it.
package struct StoredCredential: Sendable {
    /// The credential without its secrets.
    package let credential: Credential
    /// A counter of all changes.
    package let version: Int64
    /// The sealed secret.
    package let secret: [UInt8]
    /// The sealed access token; nil until one is obtained.
    package let accessToken: [UInt8]?
}

extension StoredCredential {
    init(_ row: StoredRow) throws(StoreError) {
        self.init(
            credential: try Credential(row),
            version: try row.decode("version"),
            secret: try row.decode("secret"),
            accessToken: try row.decodeIfPresent("access_token")
        )
    }
}
