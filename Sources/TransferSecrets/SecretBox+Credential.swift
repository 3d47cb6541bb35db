import Foundation
package import TransferModel

extension SecretBox {
    private struct Stored: Codable {
        let main: String
        let client: String?
    }

    /// Seals the secrets of a credential for the database.
    package func seal(
        _ secrets: Credential.Secrets,
        of tenant: TenantID
    ) throws(Failure) -> [UInt8] {
        let stored = Stored(main: secrets.main.exposed, client: secrets.client?.exposed)
        guard let bytes = try? JSONEncoder().encode(stored) else { throw .damaged }
        return try seal(Array(bytes), for: .credential, of: tenant)
    }

    /// Returns the secrets that were sealed.
    package func openSecrets(
        _ sealed: [UInt8],
        of tenant: TenantID
    ) throws(Failure) -> Credential.Secrets {
        let bytes = try open(sealed, for: .credential, of: tenant)
        guard let stored = try? JSONDecoder().decode(Stored.self, from: Data(bytes)) else {
            throw .damaged
        }
        return Credential.Secrets(
            main: Secret(stored.main),
            client: stored.client.map { Secret($0) }
        )
    }
}
