import Foundation
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
}

extension StoredCredential {
    init(_ row: StoredRow) throws(StoreError) {
        let credential = try Credential(row)
        let use = CredentialUse(credential)
        // An expired token is replaced by a refresh, which needs the secrets alone: one that was
        // damaged, or sealed with a key that this service lacks, must not prevent it.
        let isOver = credential.accessExpiresAt.map { $0 <= Date() } ?? false
        let token = try isOver ? nil : row.decodeIfPresent("access_token", as: [UInt8].self)
        self.init(
            credential: credential,
            version: try row.decode("version"),
            secrets: try row.sealer.open(secrets: row.decode("secret"), at: .secrets(of: use)),
            accessToken: try token.map { token throws(StoreError) in
                let bytes = try row.sealer.openSealed(token, at: .accessToken(of: use))
                return Secret(String(decoding: bytes, as: UTF8.self))
            }
        )
    }
}
