import EventLoop
import Logging
import Synchronization
import TransferContainer
import TransferModel
import TransferStore

/// The actor that turns ended attempts into results, in groups: complete files are made durable,
/// and then the database is told which file is whose result.
///
/// A file with a destination is permanently claimed in the database, renamed, and only then
/// reported completed. This order makes a crash at any point harmless: before `publish` commits,
/// the attempt is simply run again; after it, whichever worker finds the publication's row repeats
/// the rename, which is idempotent.
///
/// Two loops take turns, and each takes at once all that the other has left meanwhile. A flush of
/// the file system makes new files durable, and also the names of published files; a transaction
/// publishes the new files and concludes the published ones. So a file waits for two of each, or
/// for one when it has no destination, and bears its share of their cost. Where many attempts end,
/// turns are gathered; where few do, nobody waits. Files are flushed and renamed on a separate
/// thread because that blocks.
actor Publisher {
    /// The maximum number of attempts handled by one flush or one transaction.
    private static let batchMax = 500
    /// The number of attempts in one turn from which more are expected soon.
    private static let busyMin = 8
    /// The time from the start of a busy turn to the next turn; a flush or a transaction of few
    /// attempts costs nearly as much as one of many.
    private static let busyInterval: Duration = .milliseconds(20)

    private nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let stores: EngineStores
    let container: Container
    let shortages: Shortages
    let logger: Logger
    private let onConcluded: @Sendable (_ isAnyBackInQueue: Bool) -> Void
    /// The entries that wait for the file system.
    private nonisolated let entries = Inbox<Entry>()
    /// The steps that wait for the database.
    private nonisolated let steps = Inbox<Step>()
    /// The steps that wait for sessions that others hold.
    nonisolated let heldUp = HeldUpSteps<Step>()
    private nonisolated let unfinished = Atomic(0)
    /// The publications that wait because this machine is short of a resource.
    private nonisolated let postponed = PostponedPublications()

    /// An item to be ended.
    enum Entry: Sendable {
        /// A complete file, not yet durable.
        case part(PartFile, Publication)
        /// A publication whose file is to be renamed, possibly one taken over from a dead worker.
        case publication(Publication)
        /// An end without a result; the part file, if any, is removed unless another attempt
        /// resumes from it.
        case conclusion(Conclusion, part: PartFile?)
        /// A part file that no attempt will finish.
        case abandoned(Container.Place)
    }

    /// A change that the database has to be told of.
    enum Step: Sendable {
        case publish(Publication, PartFile)
        /// An end; its part file, if there is one, is removed unless an attempt needs it.
        case conclude(Conclusion, part: PartFile?)
        /// A publication whose file cannot get its name; the part is removed once that is stored,
        /// for whoever finds the publication before must find the part too.
        case refuse(Publication, Conclusion)

        var task: TaskID {
            switch self {
            case .publish(let publication, _), .refuse(let publication, _): publication.task
            case .conclude(let conclusion, _): conclusion.task
            }
        }

        var publication: Publication? {
            if case .publish(let publication, _) = self { publication } else { nil }
        }

        var conclusion: Conclusion? {
            switch self {
            case .publish: nil
            case .conclude(let conclusion, _), .refuse(_, let conclusion): conclusion
            }
        }
    }

    init(
        loop: EventLoop,
        stores: EngineStores,
        container: Container,
        shortages: Shortages = Shortages(),
        logger: Logger,
        onConcluded: @escaping @Sendable (_ isAnyBackInQueue: Bool) -> Void
    ) {
        self.loop = loop
        self.stores = stores
        self.container = container
        self.shortages = shortages
        self.logger = logger
        self.onConcluded = onConcluded
    }

    /// The number of attempts that were submitted and have not ended.
    nonisolated var backlog: Int { unfinished.load(ordering: .relaxed) }

    /// Counts an attempt whose file is still being verified, until ``arrived()``.
    nonisolated func expect() { unfinished.add(1, ordering: .relaxed) }

    /// Records that an expected attempt has been submitted.
    nonisolated func arrived() { finished(1) }

    nonisolated func finished(_ count: Int) {
        unfinished.subtract(count, ordering: .relaxed)
    }

    /// Ends an attempt in one of the next turns.
    nonisolated func submit(_ entry: Entry) {
        unfinished.add(1, ordering: .relaxed)
        // An end without a file need not wait for the files of others.
        if case .conclusion(let conclusion, part: nil) = entry, conclusion.resumption == nil {
            steps.append(.conclude(conclusion.withoutPart(), part: nil))
        } else {
            entries.append(entry)
        }
    }

    /// Ends attempts until cancelled and empty.
    nonisolated func run() async {
        repeat {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.storeAll() }
                group.addTask { await self.submitPostponed() }
                group.addTask { await self.storeHeldUp() }
                await self.writeAll()
            }
            // One loop may have left something to the other after that was cancelled.
        } while !entries.isEmpty || !steps.isEmpty
    }

    private nonisolated func submitPostponed() async {
        while let publications = await postponed.next() {
            entries.append(contentsOf: publications.map { .publication($0) })
        }
    }

    /// From now on leaves publications that cannot be finished to whoever takes them over.
    nonisolated func stopPostponing() { finished(postponed.stop()) }

    /// Whether a shortage is over.
    func probe(_ shortage: Shortage) -> Bool { container.isOver(shortage) }

    private nonisolated func writeAll() async {
        while true {
            let batch = await entries.next(limit: Self.batchMax)
            if batch.isEmpty { return }
            let begin = ContinuousClock.now
            let (next, waiting) = await write(batch)
            steps.append(contentsOf: next)
            finished(batch.count - next.count - postponed.add(waiting))
            await rest(after: batch.count, since: begin)
        }
    }

    // One transaction at a time: two would wait for one session's lock.
    private nonisolated func storeAll() async {
        while true {
            let batch = await steps.next(limit: Self.batchMax)
            if batch.isEmpty { return }
            let begin = ContinuousClock.now
            for group in distinct(await withoutHeldUp(batch), by: \.task) { await store(group) }
            await rest(after: batch.count, since: begin)
        }
    }

    private nonisolated func rest(after count: Int, since begin: ContinuousClock.Instant) async {
        guard (Self.busyMin..<Self.batchMax).contains(count) else { return }
        // The sleep is cut short when the service stops, and then there is no reason to wait.
        try? await Task.sleep(until: begin + Self.busyInterval)
    }

    /// Moves some attempts past the point of no return and ends others; those whose sessions others
    /// hold are set aside.
    private nonisolated func store(_ steps: [Step]) async {
        // Without an answer nothing is known and nothing is removed: the rows decide after the next
        // start.
        guard let stored = await stored("end", steps, task: \.task, change) else {
            return finished(steps.count)
        }
        setAside(stored.heldUp, stored.owners)
        let waiting = Set(stored.heldUp.map(\.task))
        await ended(steps.filter { !waiting.contains($0.task) }, changed: stored.changed)
    }

    /// Stores steps in the database.
    ///
    /// - Returns: the tasks that were changed.
    nonisolated func change(_ steps: [Step]) async throws(StoreError) -> Set<TaskID> {
        try await stores.completions.publish(
            steps.compactMap(\.publication),
            concluding: steps.compactMap(\.conclusion)
        )
    }

    /// Continues after the database has stored steps: renames the published files and settles the
    /// part files.
    nonisolated func ended(_ steps: [Step], changed: Set<TaskID>) async {
        var published: [Publication] = []
        var stale: [(task: TaskID, part: PartFile)] = []
        var unwanted: [(fence: Fence, place: Container.Place)] = []
        var conclusions: [Conclusion] = []
        var staleCount = 0
        for step in steps {
            let isChanged = changed.contains(step.task)
            if !isChanged { staleCount += 1 }
            switch step {
            case .publish(let publication, let file):
                if isChanged {
                    published.append(publication)
                } else {
                    stale.append((step.task, file))
                }
            case .conclude(let conclusion, let part):
                conclusions.append(conclusion)
                guard let part else { continue }
                if !isChanged {
                    stale.append((step.task, part))
                } else if conclusion.abandoned != nil {
                    unwanted.append((part.fence, part.place))
                }
            case .refuse(let publication, let conclusion):
                conclusions.append(conclusion)
                // Whoever has taken the publication over needs the part.
                guard isChanged else { continue }
                unwanted.append((publication.partFence, Container.Place(partOf: publication)))
            }
        }
        if staleCount > 0 {
            logger.notice("stale attempts dropped", metadata: ["count": "\(staleCount)"])
        }
        if !conclusions.isEmpty { onConcluded(conclusions.contains { $0.verdict.isBackInQueue }) }
        await settle(stale)
        await discard(unwanted)
        entries.append(contentsOf: published.map { .publication($0) })
        finished(steps.count - published.count)
    }
}
