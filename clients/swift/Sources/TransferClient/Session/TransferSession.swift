import Synchronization

/// A named set of tasks, after `URLSession`; its transfers go on while no process of its program
/// runs.
///
/// The session is created, or found again, with the first task that is resumed, or by
/// ``reconnect(owner:persistedFormat:creationInfo:)``. It keeps itself and its delegate alive from
/// then on, until it ends or ``close()`` is called.
public final class TransferSession: Sendable {
    /// What the session is called, and what holds for its tasks.
    public let configuration: TransferSessionConfiguration
    /// The service that runs its tasks.
    public let service: TransferService
    /// Who is told what happens.
    public let delegate: (any TransferSessionDelegate)?

    let registry = TaskRegistry()
    let submitter = TaskSubmitter()
    let leases = LeaseKeeper()
    let totals = SessionProgress()
    let state = Mutex(SessionState())

    /// Names a session; nothing is sent yet.
    public init(
        configuration: TransferSessionConfiguration,
        service: TransferService,
        delegate: (any TransferSessionDelegate)? = nil
    ) {
        self.configuration = configuration
        self.service = service
        self.delegate = delegate
    }
}
