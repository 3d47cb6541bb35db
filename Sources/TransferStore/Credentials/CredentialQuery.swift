package import TransferModel

/// What a claim asks of the credentials.
package struct CredentialQuery: Sendable {
    package let claim: TaskClaim
    package let origin: Origin

    package init(claim: TaskClaim, origin: Origin) {
        self.claim = claim
        self.origin = origin
    }
}
