import EventLoop
import Logging
import Synchronization
import TransferContainer
import TransferModel
import TransferStore

/// Turns ended attempts into results, in groups: whole files are made durable, and then the database
/// is told which file is whose result.
///
/// A file with a destination is claimed for good in the database, renamed, and only then reported
/// completed. The order is what makes a crash at any point harmless: before `publish` commits, the
/// attempt is simply run again; after it, whoever finds the publication's row repeats the rename,
/// which is idempotent.
///
/// Two take turns, and each takes at once all that the other has left meanwhile. A flush of the file
/// system makes new files durable and the names of those that were published; a transaction
/// publishes the former and concludes the latter. So a file waits for two of each, or for one when
/// it has no destination, and costs its part of them. Where many end, turns are gathered; where few
/// do, nobody waits. Files are flushed and renamed on a thread of its own, because that blocks.
actor Publisher {
    /// Attempts looked after by one flush, or one transaction, at most.
    private static let batchMax = 500
    /// Attempts of one turn from which on more of them are expected in a moment.
    private static let busyMin = 8
    /// How soon a turn follows on a busy one: a flush or a transaction of few costs nearly as much as
    /// one of many.
    private static let busyInterval: Duration = .milliseconds(20)
    /// Files and directories up to which each is made durable by itself rather than its whole file
    /// system.
    private static let singleSyncMax = 4

    private nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let store: TransferStore
    let container: Container
    let logger: Logger
    private let onConcluded: @Sendable (_ isAnyBackInQueue: Bool) -> Void
    /// What waits for the file system.
    private nonisolated let entries = Inbox<Entry>()
    /// What waits for the database.
    private nonisolated let steps = Inbox<Step>()
    /// What waits for sessions that others hold.
    nonisolated let heldUp = HeldUpSteps<Step>()
    private nonisolated let unfinished = Atomic(0)

    /// What is to be ended.
    enum Entry: Sendable {
        /// A whole file, not yet durable.
        case part(PartFile, Publication)
        /// A publication whose file is to be renamed, also one taken over from a dead worker.
        case publication(Publication)
        /// An end without a result; the part file, if any, is removed unless another attempt goes
        /// on with it.
        case conclusion(Conclusion, part: PartFile?)
        /// A part file that nobody will finish.
        case abandoned(Container.Place)
    }

    /// What the database is to be told.
    enum Step: Sendable {
        case publish(Publication, PartFile)
        /// With the part file, if there is one, that goes unless somebody needs it.
        case conclude(Conclusion, part: PartFile?)

        var task: TaskID {
            switch self {
            case .publish(let publication, _): publication.task
            case .conclude(let conclusion, _): conclusion.task
            }
        }

        var publication: Publication? {
            if case .publish(let publication, _) = self { publication } else { nil }
        }

        var conclusion: Conclusion? {
            if case .conclude(let conclusion, _) = self { conclusion } else { nil }
        }
    }

    init(
        loop: EventLoop,
        store: TransferStore,
        container: Container,
        logger: Logger,
        onConcluded: @escaping @Sendable (_ isAnyBackInQueue: Bool) -> Void
    ) {
        self.loop = loop
        self.store = store
        self.container = container
        self.logger = logger
        self.onConcluded = onConcluded
    }

    /// How many attempts were submitted and are not ended.
    nonisolated var backlog: Int { unfinished.load(ordering: .relaxed) }

    /// Counts an attempt whose file is still being verified, until ``arrived()``.
    nonisolated func expect() { unfinished.add(1, ordering: .relaxed) }

    /// An attempt that was expected has been submitted.
    nonisolated func arrived() { finished(1) }

    nonisolated func finished(_ count: Int) {
        unfinished.subtract(count, ordering: .relaxed)
    }

    /// Ends an attempt with one of the next turns.
    nonisolated func submit(_ entry: Entry) {
        unfinished.add(1, ordering: .relaxed)
        // What has no file need not wait for others'.
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
                group.addTask { await self.storeHeldUp() }
                await self.writeAll()
            }
            // One may have left something to the other after that was cancelled.
        } while !entries.isEmpty || !steps.isEmpty
    }

    private nonisolated func writeAll() async {
        while true {
            let batch = await entries.next(limit: Self.batchMax)
            if batch.isEmpty { return }
            let begin = ContinuousClock.now
            let next = await write(batch)
            steps.append(contentsOf: next)
            finished(batch.count - next.count)
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
        // Cut short when the service stops, and then there is no reason to wait.
        try? await Task.sleep(until: begin + Self.busyInterval)
    }

    /// Makes files durable, renames those that were published and makes their names durable.
    ///
    /// - Returns: what the database is to be told of them.
    private func write(_ batch: [Entry]) async -> [Step] {
        var next: [Step] = []
        var parts: [(file: PartFile, publication: Publication)] = []
        var published: [Publication] = []
        var resumptions: [Resumption] = []
        for entry in batch {
            switch entry {
            case .part(let file, let publication):
                parts.append((file, publication))
                if let resumption = publication.resumption { resumptions.append(resumption) }
            case .publication(let publication):
                if let conclusion = rename(publication) {
                    next.append(.conclude(conclusion, part: nil))
                } else {
                    published.append(publication)
                }
            case .conclusion(let conclusion, let part):
                next.append(.conclude(keeping(part, conclusion), part: part))
                if let resumption = conclusion.resumption { resumptions.append(resumption) }
            case .abandoned(let part): remove(part)
            }
        }
        if !resumptions.isEmpty {
            let stored = await stored("resumption", resumptions, task: \.task) {
                resumptions throws(StoreError) in
                try await self.store.recordResumptions(resumptions)
            }
            if let untold = stored?.heldUp, !untold.isEmpty {
                logger.notice("resumptions not told", metadata: ["count": "\(untold.count)"])
            }
        }
        // Looked for only where there are so few files that each is made durable by itself.
        let directories = parts.count > Self.singleSyncMax ? [] : homes(parts, published)
        var errors: [TaskID: StorageError] = [:]
        var undurable: StorageError?
        if parts.count + directories.count > Self.singleSyncMax {
            do throws(StorageError) {
                try container.syncAll()
            } catch {
                // The error may belong to any of them, so none may be trusted.
                for part in parts { errors[part.publication.task] = error }
                undurable = error
            }
        } else {
            for part in parts {
                do throws(StorageError) {
                    try part.file.sync()
                } catch {
                    errors[part.publication.task] = error
                }
            }
            undurable = syncNames(directories)
        }
        for (file, publication) in parts {
            let isStaying = publication.destination == nil
            if let error = errors[publication.task] ?? (isStaying ? undurable : nil) {
                next.append(.conclude(retry(publication, error), part: file))
            } else if isStaying {
                next.append(.conclude(Conclusion(fetched: publication), part: file))
            } else {
                next.append(.publish(publication, file))
            }
        }
        return next
            + published.map { publication in
                .conclude(
                    Conclusion(
                        task: publication.task,
                        fence: publication.fence,
                        verdict: undurable.map { .failed($0.failure) } ?? .completed,
                        metrics: publication.metrics
                    ),
                    part: nil
                )
            }
    }

    /// The directories in which files have got the name that they keep.
    private func homes(
        _ parts: [(file: PartFile, publication: Publication)],
        _ published: [Publication]
    ) -> Set<String> {
        let staying = parts.filter { $0.publication.destination == nil }
        return Set(published.map { Container.Place(partOf: $0).directory })
            .union(staying.map(\.file.place.directory))
    }

    private func syncNames(_ directories: Set<String>) -> StorageError? {
        do throws(StorageError) {
            for directory in directories { try container.syncDirectory(directory) }
            return nil
        } catch {
            return error
        }
    }

    /// Gives a file its final name.
    ///
    /// - Returns: what becomes of the task if that could not be done.
    private func rename(_ publication: Publication) -> Conclusion? {
        let part = Container.Place(partOf: publication)
        do throws(StorageError) {
            let publishing = try container.publish(
                part,
                as: Container.Place(of: publication).name,
                overwrite: publication.destination?.overwrite ?? true,
                bytes: publication.result.bytesReceived
            )
            switch publishing {
            case .published: return nil
            case .partLost:
                return Conclusion(
                    task: publication.task,
                    fence: publication.fence,
                    verdict: .requeued
                )
            }
        } catch {
            remove(part)
            return Conclusion(
                task: publication.task,
                fence: publication.fence,
                verdict: .failed(error.failure),
                bytesReceived: publication.result.bytesReceived,
                metrics: publication.metrics
            )
        }
    }

    /// Moves attempts past the point of no return, and ends others; those whose sessions others hold
    /// are set aside.
    private nonisolated func store(_ steps: [Step]) async {
        // Without an answer nothing is known, and nothing is removed: the rows decide after the next
        // start.
        guard let stored = await stored("end", steps, task: \.task, change) else {
            return finished(steps.count)
        }
        setAside(stored.heldUp, stored.owners)
        let waiting = Set(stored.heldUp.map(\.task))
        await ended(steps.filter { !waiting.contains($0.task) }, changed: stored.changed)
    }

    /// Tells the database.
    ///
    /// - Returns: the tasks that were changed.
    nonisolated func change(_ steps: [Step]) async throws(StoreError) -> Set<TaskID> {
        try await store.publish(
            steps.compactMap(\.publication),
            concluding: steps.compactMap(\.conclusion)
        )
    }

    /// Goes on with what the database knows now: files are to be renamed, or looked after.
    nonisolated func ended(_ steps: [Step], changed: Set<TaskID>) async {
        var published: [Publication] = []
        var stale: [(task: TaskID, part: PartFile)] = []
        var unwanted: [PartFile] = []
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
                    unwanted.append(part)
                }
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

    private func retry(_ publication: Publication, _ error: StorageError) -> Conclusion {
        Conclusion(
            task: publication.task,
            fence: publication.fence,
            verdict: .retry(error.failure, after: RetryPolicy.delayBaseDefault.jittered),
            abandoned: publication.partFence,
            metrics: publication.metrics
        )
    }
}

extension Conclusion {
    /// The end of an attempt whose durable file is the result as it is.
    fileprivate init(fetched publication: Publication) {
        self.init(
            task: publication.task,
            fence: publication.fence,
            verdict: .fetched(publication.result, part: publication.partFence),
            bytesReceived: publication.result.bytesReceived,
            metrics: publication.metrics
        )
    }
}
