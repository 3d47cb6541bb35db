import Postgres
package import TransferModel

/// A credential with the secrets needed to show it.
package struct StoredCredential: Sendable {
    /// The credential without its secrets.
    package let credential: Credential
    /// A counter of all changes.
    package let version: Int64
    /// The secrets that its client gave, or its token endpoint since.
    package let secrets: Credential.Secrets
    /// The access token; nil until one is obtained, and once it has expired.
    package let accessToken: Secret?
    /// The moment at which the access token expires, as far ahead as the database's clock said when
    /// this was read; nil if its end is unknown.
    package let accessEnds: ContinuousClock.Instant?
}

extension StoredCredential {
    init(_ row: StoredRow) throws(StoreError) {
        let credential = try Credential(row)
        let use = CredentialUse(credential)
        let remaining = try row.decodeIfPresent("access_expires_in_ms", as: Int64.self)
            .map { Duration.milliseconds($0) }
        // An expired token is replaced by a refresh, which needs the secrets alone: one that was
        // damaged, or sealed with a key that this service lacks, must not prevent it.
        let isOver = remaining.map { $0 <= .zero } ?? false
        let token = try isOver ? nil : row.decodeIfPresent("access_token", as: [UInt8].self)
        self.init(
            credential: credential,
            version: try row.decode("version"),
            secrets: try row.sealer.open(secrets: row.decode("secret"), at: .secrets(of: use)),
            accessToken: try token.map { token throws(StoreError) in
                let bytes = try row.sealer.openSealed(token, at: .accessToken(of: use))
                return Secret(String(decoding: bytes, as: UTF8.self))
            },
            accessEnds: remaining.map { ContinuousClock.now + $0 }
        )
    }
}
