/// A credential as a client gives it, alone or in answer to a challenge.
///
/// The `kind` decides which fields there are.
package struct CredentialRequest: Decodable, Sendable {
    package let kind: String
    package let token: String?
    package let username: String?
    package let password: String?
    package let name: String?
    package let value: String?
    package let tokenURL: String?
    package let clientID: String?
    package let clientSecret: String?
    package let clientSecretInBody: Bool?
    package let refreshToken: String?
    package let scope: String?
    /// The certificate in PEM, followed by the intermediate certificates of its chain.
    package let certificate: String?
    /// The private key in PEM, without a passphrase.
    package let privateKey: String?
    package let origins: [String]?

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        func text(_ key: CodingKeys) throws -> String? {
            try container.decodeIfPresent(String.self, forKey: key)
        }
        kind = try container.decode(String.self, forKey: .kind)
        token = try text(.token)
        username = try text(.username)
        password = try text(.password)
        name = try text(.name)
        value = try text(.value)
        tokenURL = try text(.tokenURL)
        clientID = try text(.clientID)
        clientSecret = try text(.clientSecret)
        clientSecretInBody = try container.decodeIfPresent(Bool.self, forKey: .clientSecretInBody)
        refreshToken = try text(.refreshToken)
        scope = try text(.scope)
        certificate = try text(.certificate)
        privateKey = try text(.privateKey)
        origins = try container.decodeIfPresent([String].self, forKey: .origins)
    }

    package enum CodingKeys: String, CodingKey, CaseIterable {
        case kind, token, username, password, name, value, scope, origins, certificate
        case privateKey = "private_key"
        case tokenURL = "token_url"
        case clientID = "client_id"
        case clientSecret = "client_secret"
        case clientSecretInBody = "client_secret_in_body"
        case refreshToken = "refresh_token"
    }
}
