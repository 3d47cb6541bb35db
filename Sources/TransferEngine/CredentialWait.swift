import Synchronization
import TransferModel

/// The place of an attempt whose credential is just being looked up: it has a slot, and can be
/// stopped.
final class CredentialWait: TransferAttempt {
    let claim: TaskClaim
    private let abandoned = Atomic(false)

    init(_ claim: TaskClaim) { self.claim = claim }

    /// Whether the attempt is not to begin any more.
    var isAbandoned: Bool { abandoned.load(ordering: .relaxed) }

    var progress: AttemptStatus { AttemptStatus() }

    func abandon() { abandoned.store(true, ordering: .relaxed) }
}
