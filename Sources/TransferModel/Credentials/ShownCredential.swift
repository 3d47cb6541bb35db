/// The credential that a request shows, in one of its versions.
package struct ShownCredential: Equatable, Sendable {
    package let id: CredentialID
    /// The version of the credential.
    package let version: Int64
    /// Whether another access token may be requested, because this one was not obtained just now.
    package let isRenewable: Bool

    package init(id: CredentialID, version: Int64, isRenewable: Bool) {
        self.id = id
        self.version = version
        self.isRenewable = isRenewable
    }
}
