import Postgres
package import TransferModel

/// A credential with what it takes to show it.
package struct StoredCredential: Sendable {
    package let credential: Credential
    /// Counts every change.
    package let version: Int64
    /// Sealed.
    package let secret: [UInt8]
    /// Sealed; nil while none was obtained.
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
