import TransferModel

/// All that is not in the database at one moment of an ``ExhaustiveSearch``: what the workers
/// remember, the files of the one task, and what may still go wrong.
struct SearchWorld {
    /// Something that a worker believes to be its own.
    struct Holding: Hashable {
        enum Stage: String {
            /// Bytes come in.
            case attempt
            /// Taken over from another worker, to be put back into the queue.
            case orphan
            /// Past the point of no return, the file not renamed.
            case publication
            /// The file has its final name.
            case renamed
            /// Another task's file has the name, and may not be replaced.
            case taken
            /// Neither the file is there nor what it has become.
            case lost
            /// The fence was refused; what becomes of the file has to be asked.
            case refused
            /// Ended, and nobody will go on with the file.
            case unwanted
        }

        var fence: Fence
        var partFence: Fence
        var stage: Stage
        /// By which the file of a publication is known again.
        var file: FileIdentity?
        /// Whether the next attempt may go on with the file.
        var isKept = false

        /// Whether the worker has the file open, and thereby locked.
        var hasFile: Bool {
            switch stage {
            case .attempt, .refused, .unwanted: true
            case .orphan, .publication, .renamed, .taken, .lost: false
            }
        }
    }

    /// A process; while others act it sleeps, for however long that takes.
    struct Worker: Hashable {
        var incarnation: Int32
        var holdings: [Holding] = []
        /// False once it has crashed or left.
        var isRunning = true
    }

    /// How often each thing may still happen on the way.
    struct Allowance: Hashable {
        var crashes = 0
        var takeovers = 0
        var retries = 0
        var releases = 0
        var failures = 0
        var checkpoints = 0
        var cancellations = 0
        var suspensions = 0
        var retirements = 0
        /// Changes that are made while their answer is lost.
        var lostAnswers = 0
        /// Changes that PostgreSQL forgets in a crash although it has answered, because nobody waited
        /// for them to be durable.
        var lostCommits = 0
        /// Files of another task, of equal size, that get the final name.
        var rivals = 0

        /// All of it in few characters.
        var key: String {
            [
                crashes, takeovers, retries, releases, failures, checkpoints, cancellations,
                suspensions, retirements, lostAnswers, lostCommits, rivals,
            ].map { String($0) }.joined(separator: " ")
        }
    }

    var workers: [Worker] = []
    /// The part files that are there, by the fence in their names.
    var parts: Set<Fence> = []
    /// Whether a file that is whole is given another name; else it stays where it is.
    var hasDestination = false
    /// Which part file has got the final name.
    var result: Fence?
    /// Which one had it before another task's file took its place.
    var replaced: Fence?
    /// Whether another task's file has the final name.
    var isTaken = false
    /// Whether there may be files that no row ever told of.
    var hasLostCommits = false
    var allowance = Allowance()
    /// Whether the first worker has claimed: the other is like it, so that it need not be first.
    var hasBegun = false

    /// Whether a running process has the part file open.
    func isLocked(_ part: Fence) -> Bool {
        workers.contains { worker in
            worker.holdings.contains { $0.partFence == part && $0.hasFile }
        }
    }

    /// Which file has the final name; one that takes the place of another may get its inode.
    var namedFile: FileIdentity? {
        if let result { return Self.identity(of: result) }
        guard isTaken else { return nil }
        return FileIdentity(inode: (replaced ?? parts.first)?.rawValue ?? 0, bornAtNanoseconds: 2)
    }

    /// By which a part file is known again.
    static func identity(of part: Fence) -> FileIdentity {
        FileIdentity(inode: part.rawValue, bornAtNanoseconds: 1)
    }

    /// Ends a process: the kernel frees its locks, the files stay.
    mutating func end(_ worker: Int) {
        workers[worker].isRunning = false
        workers[worker].holdings = []
    }
}

/// What may happen next in an ``ExhaustiveSearch``; workers and their holdings by number.
indirect enum SearchStep: Hashable {
    case claim(Int, isHeard: Bool)
    case heartbeat(Int)
    case takeOver(Int)
    case heedRevocations(Int)
    case heedForgotten(Int)
    case retire(Int)
    case crash(Int)
    case checkpoint(Int, Int)
    case publish(Int, Int, isHeard: Bool)
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
    /// Another task's file gets the final name, whoever has it.
    case occupy
    /// What the step has changed in the database is lost.
    case lose(SearchStep)
}
