package import Foundation

/// The proof of identity that a task shows to an origin, without its secrets.
package struct Credential: Sendable {
    package let id: CredentialID
    package let tenant: TenantID
    /// The credential's name; nil for one that a client gave in answer to one challenge.
    package let name: String?
    package let form: Form
    /// The origins that it may be sent to; empty for any.
    package let origins: [Origin]
    package let createdAt: Date
    package let updatedAt: Date
    /// The expiry of the access token obtained with the credential; nil while there is none.
    package let accessExpiresAt: Date?
    /// The reason that the token endpoint last gave against the credential.
    package let failure: String?

    /// The longest name, in bytes.
    package static let nameBytesMax = 64
    /// The most origins of one credential.
    package static let originsMax = 16
    /// The rule for a name, in words.
    package static let nameRule =
        "Must be the name of a credential: 1 to \(nameBytesMax) letters, digits, `.`, `_` or `-`."

    package init(
        id: CredentialID,
        tenant: TenantID,
        name: String?,
        form: Form,
        origins: [Origin],
        createdAt: Date,
        updatedAt: Date,
        accessExpiresAt: Date?,
        failure: String?
    ) {
        self.id = id
        self.tenant = tenant
        self.name = name
        self.form = form
        self.origins = origins
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.accessExpiresAt = accessExpiresAt
        self.failure = failure
    }

    /// Returns whether the secret may be sent to `origin`.
    package func isFor(_ origin: Origin) -> Bool { origins.isEmpty || origins.contains(origin) }

    /// Returns whether `text` has only letters, digits, `.`, `_` and `-`: a name is part of paths.
    package static func isName(_ text: String) -> Bool {
        (1...nameBytesMax).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "._-".utf8.contains(byte)
                }
            } && text != "." && text != ".."
    }
}

extension Credential {
    /// A kind of credential.
    package enum Kind: String, CaseIterable, Sendable {
        case bearer, basic, header
        case oauth2RefreshToken = "oauth2_refresh_token"
        case clientCertificate = "client_certificate"
    }

    /// The way in which a credential is shown.
    package enum Form: Equatable, Sendable {
        /// A bearer token (RFC 6750 §2.1).
        case bearer
        /// A user name and a password (RFC 7617), in UTF-8.
        case basic(username: String)
        /// A field of that name, as many services want for their keys.
        case header(name: String)
        /// Access tokens obtained with a refresh token (RFC 6749 §6) and shown as bearer tokens.
        case oauth2RefreshToken(TokenEndpoint)
        /// A certificate in PEM, shown in the TLS handshake; its private key is the secret.
        case clientCertificate(pem: String)

        /// The kind of the form.
        package var kind: Kind {
            switch self {
            case .bearer: .bearer
            case .basic: .basic
            case .header: .header
            case .oauth2RefreshToken: .oauth2RefreshToken
            case .clientCertificate: .clientCertificate
            }
        }

        /// Returns the field that shows `secret`: the token, password, value or access token; nil
        /// for a credential shown in the TLS handshake.
        package func field(showing secret: Secret) -> HTTPHeader? {
            switch self {
            case .bearer, .oauth2RefreshToken:
                return HTTPHeader(name: "Authorization", value: "Bearer \(secret.exposed)")
            case .basic(let username): return Self.basic(username, secret)
            case .header(let name): return HTTPHeader(name: name, value: secret.exposed)
            case .clientCertificate: return nil
            }
        }

        /// Returns the field `Authorization` with a user name and a password.
        package static func basic(_ username: String, _ password: Secret) -> HTTPHeader {
            let pair = Data("\(username):\(password.exposed)".utf8).base64EncodedString()
            return HTTPHeader(name: "Authorization", value: "Basic \(pair)")
        }
    }

    /// The endpoint that access tokens come from.
    package struct TokenEndpoint: Equatable, Sendable {
        package let url: String
        package let clientID: String
        /// Whether the client's secret goes in the body, for endpoints that know no other way;
        /// otherwise it goes in the field `Authorization` (RFC 6749 §2.3.1).
        package let sendsSecretInBody: Bool
        /// The scope to ask for; nil for none.
        package let scope: String?

        package init(url: String, clientID: String, sendsSecretInBody: Bool, scope: String?) {
            self.url = url
            self.clientID = clientID
            self.sendsSecretInBody = sendsSecretInBody
            self.scope = scope
        }
    }

    /// The secrets of a credential.
    package struct Secrets: Equatable, Sendable {
        /// The token, password, field value, refresh token or private key.
        package var main: Secret
        /// The secret of the client at its token endpoint.
        package var client: Secret?

        package init(main: Secret, client: Secret? = nil) {
            self.main = main
            self.client = client
        }
    }
}
