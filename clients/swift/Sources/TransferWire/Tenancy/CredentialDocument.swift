/// A credential as clients see it, never with its secrets.
public struct CredentialDocument: Codable, Sendable {
    /// The name of the credential.
    public let name: String
    /// The kind, such as `bearer` or `basic`.
    public let kind: String
    /// The user name of a `basic` credential.
    public var username: String?
    /// The name of the header that carries the value.
    public var headerName: String?
    /// The address of the token endpoint.
    public var tokenURL: String?
    /// The client identifier at the token endpoint.
    public var clientID: String?
    /// The scope, if the token endpoint requires one.
    public var scope: String?
    /// The origins that it is for; absent for all.
    public var origins: [String]?
    /// The time at which the credential was created.
    public let createdAt: Timestamp
    /// The time of the last change.
    public let updatedAt: Timestamp
    /// The time at which the access token obtained with it expires.
    public var accessTokenExpiresAt: Timestamp?
    /// The error that the token endpoint last returned.
    public var failure: String?

    /// Creates the value from its parts.
    public init(name: String, kind: String, createdAt: Timestamp, updatedAt: Timestamp) {
        self.name = name
        self.kind = kind
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }

    private enum CodingKeys: String, CodingKey {
        case name, kind, username, scope, origins, failure
        case headerName = "header_name"
        case tokenURL = "token_url"
        case clientID = "client_id"
        case createdAt = "created_at"
        case updatedAt = "updated_at"
        case accessTokenExpiresAt = "access_token_expires_at"
    }
}
