import TransferModel

/// The place of an attempt that waits for the database before it begins, for its credential or until
/// its claim is durable: it has a slot, and can be stopped.
final class AttemptWait: TransferAttempt {
    let claim: TaskClaim
    let connections = Connections()

    init(_ claim: TaskClaim) { self.claim = claim }

    /// Whether the attempt is not to begin any more.
    var isAbandoned: Bool { connections.isAbandoned }

    var progress: AttemptStatus { AttemptStatus() }

    /// It is not begun itself: the attempt takes its place.
    func begin() {}

    func yieldConnection() {}

    func abandon() { connections.abandon() }
}
