/// The credential that a request shows, in one of its versions.
package struct ShownCredential: Equatable, Sendable {
    package let id: CredentialID
    /// The version of the credential.
    package let version: Int64
    /// Whether another access token may be requested, because this one was not obtained just now.
    package let isRenewable: Bool
    /// The name of the field that shows it, in lower case; nil for one shown in the TLS handshake.
    package let field: String?

    package init(id: CredentialID, version: Int64, isRenewable: Bool, field: String? = nil) {
        self.id = id
        self.version = version
        self.isRenewable = isRenewable
        self.field = field
    }
}
