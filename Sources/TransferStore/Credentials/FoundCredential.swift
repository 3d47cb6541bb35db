package import TransferModel

/// The credential that a claim is to show, as far as this service can read it.
package enum FoundCredential: Sendable {
    case readable(StoredCredential)
    /// One of a later release, or one that was sealed with a key that this service lacks.
    case unreadable(CredentialID, because: String)
}
