/// A credential as clients see it, never with its secrets.
package struct CredentialDocument: Codable, Sendable {
    /// The name of the credential.
    package let name: String
    /// The kind, such as `bearer` or `basic`.
    package let kind: String
    package var username: String?
    /// The name of the header that carries the value.
    package var headerName: String?
    /// The address of the token endpoint.
    package var tokenURL: String?
    package var clientID: String?
    package var scope: String?
    /// The origins that it is for; absent for all.
    package var origins: [String]?
    /// The time at which the credential was created.
    package let createdAt: Timestamp
    /// The time of the last change.
    package let updatedAt: Timestamp
    /// The time at which the access token obtained with it expires.
    package var accessTokenExpiresAt: Timestamp?
    /// The error that the token endpoint last returned.
    package var failure: String?

    package init(name: String, kind: String, createdAt: Timestamp, updatedAt: Timestamp) {
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
