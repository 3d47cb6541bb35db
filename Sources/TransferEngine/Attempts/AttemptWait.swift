import Curl
import TransferModel

/// A stand-in for an attempt that waits for the database before it starts, for its credential or
/// until its claim is durable: it has a slot and can be stopped.
final class AttemptWait: TransferAttempt {
    let claim: TaskClaim
    let connections = Connections()

    init(_ claim: TaskClaim) { self.claim = claim }

    /// Whether the attempt may no longer start.
    var isAbandoned: Bool { connections.isAbandoned }

    var progress: AttemptStatus { AttemptStatus() }

    /// Does nothing, for it is not started itself: the attempt takes its place.
    func begin(on _: CurlLoop) {}

    func yieldConnection() {}

    func abandon() { connections.abandon() }
}
