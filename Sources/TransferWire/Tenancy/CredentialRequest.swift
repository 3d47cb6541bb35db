/// A credential as a client gives it, alone or in answer to a challenge.
///
/// The `kind` decides which fields there are.
package struct CredentialRequest: Decodable, Sendable {
    /// The kind, such as `bearer` or `basic`.
    package let kind: String
    /// The token of a `bearer` credential.
    package let token: String?
    /// The user name of a `basic` credential.
    package let username: String?
    /// The password of a `basic` credential.
    package let password: String?
    /// The name of the header of a `header` credential.
    package let name: String?
    /// The value of the header of a `header` credential.
    package let value: String?
    /// The address of the token endpoint.
    package let tokenURL: String?
    /// The client identifier at the token endpoint.
    package let clientID: String?
    /// The client secret, if the token endpoint requires one.
    package let clientSecret: String?
    /// Whether the client secret is sent in the body.
    package let clientSecretInBody: Bool?
    /// The refresh token of an `oauth2_refresh_token` credential.
    package let refreshToken: String?
    /// The scope, if the token endpoint requires one.
    package let scope: String?
    /// The certificate in PEM, followed by the intermediate certificates of its chain.
    package let certificate: String?
    /// The private key in PEM, without a passphrase.
    package let privateKey: String?
    /// The origins to which the credential may be sent; absent for all.
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
