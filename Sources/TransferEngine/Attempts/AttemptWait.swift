import Curl
import Synchronization
import TransferModel

/// A stand-in for an attempt that waits for what the database has to say before it starts: it has a
/// slot and can be stopped, which ends it at once.
final class AttemptWait: TransferAttempt {
    let claim: TaskClaim
    let connections = Connections()
    private let hasEnded = Atomic(false)
    private let onAbandon: @Sendable (AttemptWait) -> Void

    /// Creates a wait that calls `onAbandon` when it is stopped before it has ended.
    init(_ claim: TaskClaim, onAbandon: @escaping @Sendable (AttemptWait) -> Void) {
        self.claim = claim
        self.onAbandon = onAbandon
    }

    /// Whether the attempt may no longer start.
    var isAbandoned: Bool { connections.isAbandoned }

    var progress: AttemptStatus { AttemptStatus() }

    /// Returns true to one caller, who then ends the wait.
    func takeEnd() -> Bool { !hasEnded.exchange(true, ordering: .acquiringAndReleasing) }

    /// Does nothing, for it is not started itself: the attempt takes its place.
    func begin(on _: CurlLoop) {}

    func yieldConnection() {}

    func abandon() {
        connections.abandon()
        onAbandon(self)
    }
}
