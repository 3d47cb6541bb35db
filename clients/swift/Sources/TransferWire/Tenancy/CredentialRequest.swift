/// A credential as a client gives it, alone or in answer to a challenge.
///
/// The `kind` decides which fields there are.
public struct CredentialRequest: Codable, Sendable {
    /// The kind, such as `bearer` or `basic`.
    public let kind: String
    /// The token of a `bearer` credential.
    public let token: String?
    /// The user name of a `basic` credential.
    public let username: String?
    /// The password of a `basic` credential.
    public let password: String?
    /// The name of the header of a `header` credential.
    public let name: String?
    /// The value of the header of a `header` credential.
    public let value: String?
    /// The address of the token endpoint.
    public let tokenURL: String?
    /// The client identifier at the token endpoint.
    public let clientID: String?
    /// The client secret, if the token endpoint requires one.
    public let clientSecret: String?
    /// Whether the client secret is sent in the body.
    public let clientSecretInBody: Bool?
    /// The refresh token of an `oauth2_refresh_token` credential.
    public let refreshToken: String?
    /// The scope, if the token endpoint requires one.
    public let scope: String?
    /// The certificate in PEM, followed by the intermediate certificates of its chain.
    public let certificate: String?
    /// The private key in PEM, without a passphrase.
    public let privateKey: String?
    /// The origins to which the credential may be sent; absent for all.
    public let origins: [String]?

    /// Creates a request; what is nil is absent.
    public init(
        kind: String,
        token: String? = nil,
        username: String? = nil,
        password: String? = nil,
        name: String? = nil,
        value: String? = nil,
        tokenURL: String? = nil,
        clientID: String? = nil,
        clientSecret: String? = nil,
        clientSecretInBody: Bool? = nil,
        refreshToken: String? = nil,
        scope: String? = nil,
        certificate: String? = nil,
        privateKey: String? = nil,
        origins: [String]? = nil
    ) {
        self.kind = kind
        self.token = token
        self.username = username
        self.password = password
        self.name = name
        self.value = value
        self.tokenURL = tokenURL
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.clientSecretInBody = clientSecretInBody
        self.refreshToken = refreshToken
        self.scope = scope
        self.certificate = certificate
        self.privateKey = privateKey
        self.origins = origins
    }

    /// Reads an object that has no other members.
    public init(from decoder: any Decoder) throws {
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

    /// The names of the members.
    public enum CodingKeys: String, CodingKey, CaseIterable {
        case kind, token, username, password, name, value, scope, origins, certificate
        case privateKey = "private_key"
        case tokenURL = "token_url"
        case clientID = "client_id"
        case clientSecret = "client_secret"
        case clientSecretInBody = "client_secret_in_body"
        case refreshToken = "refresh_token"
    }
}
