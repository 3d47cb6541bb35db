/// A credential as a client gives it, by itself or in answer to a challenge.
///
/// Which fields there are is up to `kind`.
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
    /// In PEM, followed by the intermediate ones of its chain.
    package let certificate: String?
    /// In PEM, without a passphrase.
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

/// A credential as clients see it: never with its secrets.
package struct CredentialDocument: Codable, Sendable {
    package let name: String
    package let kind: String
    package var username: String?
    package var headerName: String?
    package var tokenURL: String?
    package var clientID: String?
    package var scope: String?
    /// Absent for anywhere.
    package var origins: [String]?
    package let createdAt: Timestamp
    package let updatedAt: Timestamp
    /// When the access token ends that was obtained with it.
    package var accessTokenExpiresAt: Timestamp?
    /// What the token endpoint last said against it.
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

/// The body of `POST …/credential`: the answer to `task.authentication_required`.
package struct ChallengeRequest: Decodable, Sendable {
    package let disposition: Disposition
    /// With ``Disposition/use`` only.
    package let credential: Choice?

    /// `URLSession.AuthChallengeDisposition`.
    package enum Disposition: String, CaseIterable, Decodable, Sendable {
        case use
        /// Go on as if nobody had been asked: the task fails with what the origin answered.
        case `default`
        case cancel
        /// As ``default``: the credential is not for this origin.
        case reject
    }

    /// One that is stored, or one for this session and origin alone.
    package enum Choice: Sendable {
        case named(String)
        case given(CredentialRequest)
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
        disposition = try container.decode(Disposition.self, forKey: .disposition)
        if let name = try? container.decodeIfPresent(String.self, forKey: .credential) {
            credential = .named(name)
        } else {
            credential = try container.decodeIfPresent(
                CredentialRequest.self,
                forKey: .credential
            ).map { .given($0) }
        }
    }

    private enum CodingKeys: CodingKey {
        case disposition, credential
    }
}
