import TransferModel

/// The state outside the database at one moment of an ``ExhaustiveSearch``.
///
/// It holds the memory of the workers, the files of the one task, and the faults that may still
/// happen.
struct SearchWorld {
    /// A piece of work that a worker believes to be its own.
    struct Holding: Hashable {
        enum Stage: String {
            /// Bytes come in.
            case attempt
            /// Taken over from another worker, to be put back into the queue.
            case orphan
            /// Past the point of no return, the file not renamed.
            case pendingRename
            /// The file has its final name.
            case renamed
            /// Another task's file has the name, and may not be replaced.
            case taken
            /// Neither the part file nor its renamed result exists.
            case lost
            /// The fence was refused; the store has to be asked about the file.
            case refused
            /// Ended, and no attempt will continue the file.
            case unwanted
        }

        var fence: Fence
        var partFence: Fence
        var stage: Stage
        /// The identity by which the file of a pending rename is recognized.
        var file: FileIdentity?
        /// Whether the next attempt may continue the file.
        var isKept = false

        /// Whether the worker has the file open, and thereby locked.
        var hasFile: Bool {
            switch stage {
            case .attempt, .refused, .unwanted: true
            case .orphan, .pendingRename, .renamed, .taken, .lost: false
            }
        }
    }

    /// A process; while others act it sleeps, for any length of time.
    struct Worker: Hashable {
        var incarnation: Int32
        var holdings: [Holding] = []
        /// Whether it runs; false once it has crashed or left.
        var isRunning = true
    }

    /// The remaining number of occurrences of each kind of fault on the path.
    struct Allowance: Hashable {
        var crashes = 0
        var takeovers = 0
        var retries = 0
        var releases = 0
        var failures = 0
        var checkpoints = 0
        var cancellations = 0
        /// The number of times that the client retries a task which has failed or was cancelled.
        var clientRetries = 0
        var suspensions = 0
        var retirements = 0
        /// The number of changes whose answer is lost.
        var lostAnswers = 0
        /// The number of changes that PostgreSQL forgets in a crash although it has answered,
        /// because nobody waited for them to be durable.
        var lostCommits = 0
        /// The number of files of another task, of equal size, that get the final name.
        var rivals = 0

        /// The remaining allowance as a short text.
        var key: String {
            [
                crashes, takeovers, retries, releases, failures, checkpoints, cancellations,
                suspensions, retirements, lostAnswers, lostCommits, rivals, clientRetries,
            ].map { String($0) }.joined(separator: " ")
        }
    }

    var workers: [Worker] = []
    /// The existing part files, by the fence in their names.
    var parts: Set<Fence> = []
    /// Whether a complete file is given another name; otherwise it stays at its place.
    var hasDestination = false
    /// The fence of the part file that has got the final name.
    var result: Fence?
    /// The fence of the file that had it before another task's file replaced it.
    var replaced: Fence?
    /// Whether another task's file has the final name.
    var isTaken = false
    /// Whether there may be files that no row ever mentioned.
    var hasLostCommits = false
    var allowance = Allowance()
    /// Whether the first worker has claimed; the other one is like it, and so need not be first.
    var hasBegun = false

    /// Returns whether a running process has the part file open.
    func isLocked(_ part: Fence) -> Bool {
        workers.contains { worker in
            worker.holdings.contains { $0.partFence == part && $0.hasFile }
        }
    }

    /// The file that has the final name; one that replaces another may get its inode.
    var namedFile: FileIdentity? {
        if let result { return Self.identity(of: result) }
        guard isTaken else { return nil }
        return FileIdentity(inode: (replaced ?? parts.first)?.rawValue ?? 0, bornAtNanoseconds: 2)
    }

    /// Returns the identity by which a part file is recognized.
    static func identity(of part: Fence) -> FileIdentity {
        FileIdentity(inode: part.rawValue, bornAtNanoseconds: 1)
    }

    /// Ends a process: the kernel frees its locks, the files stay.
    mutating func end(_ worker: Int) {
        workers[worker].isRunning = false
        workers[worker].holdings = []
    }
}

/// A possible next step in an ``ExhaustiveSearch``; workers and their holdings by number.
indirect enum SearchStep: Hashable {
    case claim(Int, isHeard: Bool)
    case heartbeat(Int)
    case takeOver(Int)
    case heedRevocations(Int)
    case heedForgotten(Int)
    case retire(Int)
    case crash(Int)
    case checkpoint(Int, Int)
    case beginRename(Int, Int, isHeard: Bool)
    case fetch(Int, Int, isHeard: Bool)
    case rename(Int, Int)
    case complete(Int, Int, isHeard: Bool)
    case refuse(Int, Int, isHeard: Bool)
    case retry(Int, Int, isHeard: Bool)
    case release(Int, Int)
    case fail(Int, Int)
    case requeue(Int, Int)
    case settle(Int, Int)
    case discard(Int, Int)
    case sweep
    case promote
    case cancel
    case suspend
    case resume
    case retryByClient
    /// Another task's file gets the final name, whoever has it.
    case occupy
    /// The step's change in the database is lost.
    case lose(SearchStep)
}
