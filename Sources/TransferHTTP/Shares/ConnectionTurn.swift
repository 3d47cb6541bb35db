import Synchronization
import TransferModel

/// A connection's place among those that take turns in its event loop's ``RequestTurns``.
final class ConnectionTurn: TaskExecutor {
    /// Whose turn it is.
    enum Owner: Hashable, Sendable {
        /// A connection on which no good key has arrived yet.
        case address(PeerAddress?)
        case tenant(TenantID)
    }

    /// The turn of the connection that is being served.
    @TaskLocal static var current: ConnectionTurn?

    /// The number of requests that may be refused in a row before an answer waits.
    static let refusalsMax = 256

    private let turns: RequestTurns
    private let latestOwner: Mutex<Owner>
    private let refusals = Atomic(0)

    init(of address: PeerAddress?, in turns: RequestTurns) {
        self.turns = turns
        latestOwner = Mutex(.address(address))
    }

    /// The owner of the turn: the tenant of the last good key.
    var owner: Owner {
        get { latestOwner.withLock { $0 } }
        set { latestOwner.withLock { $0 = newValue } }
    }

    /// Takes note of an answer, and returns whether the connection has brought nothing but requests
    /// that are refused, and many of them.
    func isFutile(after status: Int) -> Bool {
        guard status >= 400 else {
            refusals.store(0, ordering: .relaxed)
            return false
        }
        return refusals.add(1, ordering: .relaxed).newValue > Self.refusalsMax
    }

    func enqueue(_ job: consuming ExecutorJob) {
        turns.enqueue(UnownedJob(job), of: self)
    }

    /// Runs `work` and all that it awaits in this turn.
    func run(_ work: @Sendable () async -> Void) async {
        await Self.$current.withValue(self) {
            await withTaskExecutorPreference(self) { await work() }
        }
    }
}
