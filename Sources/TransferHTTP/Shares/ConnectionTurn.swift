import Synchronization
import TransferModel

/// A connection's place among those that take turns on the ``RequestThreads``.
final class ConnectionTurn: TaskExecutor {
    /// Whose turn it is.
    enum Owner: Hashable, Sendable {
        /// A connection on which no good key has arrived yet.
        case address(PeerAddress?)
        case tenant(TenantID)
    }

    /// The turn of the connection that is being served.
    @TaskLocal static var current: ConnectionTurn?

    private let threads: RequestThreads
    private let latestOwner: Mutex<Owner>

    init(of address: PeerAddress?, on threads: RequestThreads) {
        self.threads = threads
        latestOwner = Mutex(.address(address))
    }

    /// The owner of the turn: the tenant of the last good key.
    var owner: Owner {
        get { latestOwner.withLock { $0 } }
        set { latestOwner.withLock { $0 = newValue } }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        threads.enqueue(UnownedJob(job), of: self)
    }

    /// Runs `work` and all that it awaits in this turn.
    func run(_ work: @Sendable () async -> Void) async {
        await Self.$current.withValue(self) {
            await withTaskExecutorPreference(self) { await work() }
        }
    }
}
