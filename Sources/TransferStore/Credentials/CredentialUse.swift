import Foundation
import Postgres
import TransferModel

/// Whose a credential is, and what it is shown to in which way.
///
/// Its secrets are sealed for that: whoever can write to the database, but has no key, must not
/// have them sent to another origin or token endpoint.
struct CredentialUse {
    let id: UUID
    let tenant: TenantID
    let name: String?
    let form: Credential.Form
    let origins: [Origin]

    /// The bytes that are authenticated with a secret; no two uses have the same.
    ///
    /// A named credential is bound by its name, because one that replaces another keeps its row.
    var bytes: [UInt8] {
        var bytes = name.map { Array($0.utf8) } ?? withUnsafeBytes(of: id.uuid) { Array($0) }
        bytes.append(0)
        bytes += Self.encoded([form.kind.rawValue] + formTexts)
        bytes += Self.encoded(origins.map(\.description))
        return bytes
    }

    /// All that the form has.
    private var formTexts: [String] {
        switch form {
        case .bearer: []
        case .basic(let username): [username]
        case .header(let name): [name]
        case .clientCertificate(let pem): [pem]
        case .oauth2RefreshToken(let endpoint):
            [endpoint.url, endpoint.clientID, endpoint.sendsSecretInBody ? "body" : "header"]
                + [endpoint.scope].compactMap(\.self)
        }
    }

    /// Returns texts with their number and lengths, so that no other texts have the same bytes.
    private static func encoded(_ texts: [String]) -> [UInt8] {
        encoded(texts.count) + texts.flatMap { encoded($0.utf8.count) + Array($0.utf8) }
    }

    private static func encoded(_ count: Int) -> [UInt8] {
        withUnsafeBytes(of: UInt64(count).bigEndian) { Array($0) }
    }
}

extension CredentialUse {
    init(_ credential: Credential) {
        self.init(
            id: credential.id.uuid,
            tenant: credential.tenant,
            name: credential.name,
            form: credential.form,
            origins: credential.origins
        )
    }

    init(_ row: StoredRow) throws(StoreError) {
        let id = try row.decode("id", as: UUID.self)
        let tenant = try row.tenant("tenant_id")
        let name = try row.decodeIfPresent("name", as: String.self)
        self.init(
            id: id,
            tenant: tenant,
            name: name,
            form: try StoredJSON.form(
                try row.word("kind"),
                try row.decode("form", as: JSONText.self).text,
                row.sealer,
                at: .tokenEndpoint(of: id, named: name, of: tenant)
            ),
            origins: try row.decode("origins", as: [String].self).map { Origin(stored: $0) }
        )
    }
}
