package import TransferModel

/// The credential that a client wants shown to an origin.
package enum CredentialAnswer: Sendable {
    /// A credential that has a name.
    case named(CredentialID)
    /// A credential for this session and origin alone.
    case given(Credential.Form, Credential.Secrets)
}
