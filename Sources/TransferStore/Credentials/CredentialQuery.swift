package import TransferModel

/// A claim's query for the credential to show to an origin.
package struct CredentialQuery: Sendable {
    /// The claim whose task needs the credential.
    package let claim: TaskClaim
    /// The origin that the credential is shown to.
    package let origin: Origin

    package init(claim: TaskClaim, origin: Origin) {
        self.claim = claim
        self.origin = origin
    }
}
