import TransferModel

/// The place of an attempt whose credential is just being looked up: it has a slot, and can be
/// stopped.
final class CredentialWait: TransferAttempt {
    let claim: TaskClaim
    let current = CurrentTransfer()

    init(_ claim: TaskClaim) { self.claim = claim }

    /// Whether the attempt is not to begin any more.
    var isAbandoned: Bool { current.isAbandoned }

    var progress: AttemptStatus { AttemptStatus() }

    func abandon() { current.abandon() }
}
