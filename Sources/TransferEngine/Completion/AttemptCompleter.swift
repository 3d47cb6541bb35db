import PollLoop
import Logging
import Synchronization
import TransferContainer
import TransferModel
import TransferStore

/// The part of the engine that turns ended attempts into results, in groups: complete files are
/// made durable, and then the database is told which file is whose result.
///
/// A file with a destination is permanently claimed in the database, renamed, and only then
/// reported completed. This order makes a crash at any point harmless: before its pending
/// rename is committed, the attempt is simply run again; after it, whichever worker finds that row
/// repeats the rename, which is idempotent.
///
/// Two loops take turns, and each takes at once all that the other has left meanwhile. A flush of
/// the file system makes new files durable, and also the names of renamed files; a transaction
/// claims the new files and ends the renamed ones. So a file waits for two of each, or for one when
/// it has no destination, and bears its share of their cost. Where many attempts end, turns are
/// gathered; where few do, nobody waits. Files are flushed and renamed on a separate thread because
/// that blocks.
final class AttemptCompleter: Sendable {
    /// The maximum number of attempts handled by one flush or one transaction.
    private static let batchMax = 500
    /// The number of attempts in one turn from which more are expected soon.
    private static let busyMin = 8
    /// The time from the start of a busy turn to the next turn; a flush or a transaction of few
    /// attempts costs nearly as much as one of many.
    private static let busyInterval: Duration = .milliseconds(20)

    private let stores: EngineStores
    /// The part files of ended attempts.
    let partFiles: PartFiles
    /// The files that become results.
    let resultFiles: ResultFiles
    let writer: EndWriter
    /// The ends that were stored, for those who watch the instance.
    let counters = AttemptCounters()
    let logger: Logger
    private let onEnded: @Sendable (_ isAnyBackInQueue: Bool) -> Void
    /// The entries that wait for the file system.
    private let entries = BatchQueue<CompletionEntry>()
    /// The steps that wait for the database.
    private let steps = BatchQueue<CompletionStep>()
    /// The steps that wait for sessions that others hold, or for a database that fails over them.
    let heldUp = HeldUpSteps<CompletionStep>()
    private let unfinished = Atomic(0)
    /// The pending renames that wait because this machine is short of a resource.
    let postponed: PostponedRenames

    init(
        loop: PollLoop,
        stores: EngineStores,
        container: Container,
        packs: Packs,
        shortages: Shortages = Shortages(),
        logger: Logger,
        onEnded: @escaping @Sendable (_ isAnyBackInQueue: Bool) -> Void
    ) {
        self.stores = stores
        self.logger = logger
        partFiles = PartFiles(loop: loop, store: stores.parts, container: container, logger: logger)
        resultFiles = ResultFiles(
            loop: loop,
            container: container,
            packs: packs,
            partFiles: partFiles,
            shortages: shortages
        )
        postponed = PostponedRenames(shortages: shortages, logger: logger)
        writer = EndWriter(completions: stores.completions, logger: logger)
        self.onEnded = onEnded
    }

    /// The number of attempts that were submitted and have not ended, without postponed renames.
    var backlog: Int { unfinished.load(ordering: .relaxed) }

    /// Whether few enough wait to be ended or renamed that further tasks may be claimed.
    var hasRoom: Bool { backlog < EngineConfiguration.backlogMax && postponed.hasRoom }

    /// Counts an attempt whose file is still being verified, until ``arrived()``.
    func expect() { unfinished.add(1, ordering: .relaxed) }

    /// Records that an expected attempt has been submitted.
    func arrived() { finished(1) }

    func finished(_ count: Int) {
        unfinished.subtract(count, ordering: .relaxed)
    }

    /// Ends an attempt in one of the next turns.
    func submit(_ entry: CompletionEntry) {
        unfinished.add(1, ordering: .relaxed)
        // An end without a file need not wait for the files of others.
        if case .attemptEnd(let attemptEnd, part: nil) = entry, attemptEnd.resumption == nil {
            steps.append(.end(attemptEnd.withoutPart(), part: nil))
        } else {
            entries.append(entry)
        }
    }

    /// Ends attempts until cancelled and empty.
    func run() async {
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

    private func submitPostponed() async {
        while let pendingRenames = await postponed.next() {
            unfinished.add(pendingRenames.count, ordering: .relaxed)
            entries.append(contentsOf: pendingRenames.map { .pendingRename($0) })
        }
    }

    /// From now on leaves pending renames that cannot be finished to whoever takes them over.
    func stopPostponing() { postponed.stop() }

    private func writeAll() async {
        while true {
            let batch = await entries.next(limit: Self.batchMax)
            if batch.isEmpty { return }
            let begin = ContinuousClock.now
            await storeResumptions(of: batch)
            let (next, waiting) = await resultFiles.write(batch)
            steps.append(contentsOf: next)
            postponed.tried(batch.compactMap(\.renamed), failed: waiting)
            finished(batch.count - next.count)
            await rest(after: batch.count, since: begin)
        }
    }

    private func storeResumptions(of batch: [CompletionEntry]) async {
        let resumptions = batch.compactMap(\.resumption)
        guard !resumptions.isEmpty else { return }
        let stored = await writer.stored("resumption", resumptions, task: \.task) {
            resumptions throws(StoreError) in
            try await stores.parts.recordResumptions(resumptions)
        }
        if let untold = stored.map({ $0.heldUp + $0.failed }), !untold.isEmpty {
            logger.notice("resumptions not told", metadata: ["count": "\(untold.count)"])
        }
    }

    // One transaction at a time: two would wait for one session's lock.
    private func storeAll() async {
        while true {
            let batch = await steps.next(limit: Self.batchMax)
            if batch.isEmpty { return }
            let begin = ContinuousClock.now
            for group in writer.distinct(await withoutHeldUp(batch), by: \.task) {
                await store(group)
            }
            await rest(after: batch.count, since: begin)
        }
    }

    private func rest(after count: Int, since begin: ContinuousClock.Instant) async {
        guard (Self.busyMin..<Self.batchMax).contains(count) else { return }
        // The sleep is cut short when the service stops, and then there is no reason to wait.
        try? await Task.sleep(until: begin + Self.busyInterval)
    }

    /// Moves some attempts past the point of no return and ends others; those whose sessions others
    /// hold are set aside, and those over which the database fails.
    private func store(_ steps: [CompletionStep]) async {
        // Without an answer nothing is known and nothing is removed: the rows decide after the next
        // start.
        guard let stored = await writer.stored("end", steps, task: \.task, change) else {
            return finished(steps.count)
        }
        setAside(stored.heldUp, stored.owners)
        heldUp.add(stored.failed, of: [], failedAt: .now)
        let waiting = Set((stored.heldUp + stored.failed).map(\.task))
        await ended(steps.filter { !waiting.contains($0.task) }, changed: stored.changed)
    }

    /// Stores steps in the database.
    ///
    /// - Returns: the tasks that were changed.
    func change(_ steps: [CompletionStep]) async throws(StoreError) -> Set<TaskID> {
        try await writer.completions.end(
            steps.compactMap(\.attemptEnd),
            beginning: steps.compactMap(\.pendingRename)
        )
    }

    /// Continues after the database has stored steps: has the files of the renames that have begun
    /// renamed, and settles the part files.
    func ended(_ steps: [CompletionStep], changed: Set<TaskID>) async {
        var begun: [PendingRename] = []
        var stale: [(task: TaskID, part: Part)] = []
        var unwanted: [(fence: Fence, place: Container.Place)] = []
        var attemptEnds: [AttemptEnd] = []
        var staleCount = 0
        for step in steps {
            let isChanged = changed.contains(step.task)
            if !isChanged { staleCount += 1 }
            switch step {
            case .rename(let pendingRename, let file):
                if isChanged {
                    begun.append(pendingRename)
                } else {
                    stale.append((step.task, .file(file)))
                }
            case .end(let attemptEnd, let part):
                attemptEnds.append(attemptEnd)
                if isChanged { counters.count(attemptEnd) }
                guard let part else { continue }
                if !isChanged {
                    stale.append((step.task, part))
                } else if attemptEnd.abandoned != nil {
                    unwanted.append((part.fence, part.place))
                }
            case .refuse(let pendingRename, let attemptEnd):
                attemptEnds.append(attemptEnd)
                // Whoever has taken the pending rename over needs the part.
                guard isChanged else { continue }
                counters.count(attemptEnd)
                unwanted.append((pendingRename.partFence, Container.Place(partOf: pendingRename)))
            }
        }
        if staleCount > 0 {
            logger.notice("stale attempts dropped", metadata: ["count": "\(staleCount)"])
        }
        if !attemptEnds.isEmpty { onEnded(attemptEnds.contains { $0.outcome.isBackInQueue }) }
        await partFiles.settle(stale)
        await partFiles.discard(unwanted)
        entries.append(contentsOf: begun.map { .pendingRename($0) })
        finished(steps.count - begun.count)
    }
}
