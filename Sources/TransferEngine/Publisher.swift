import EventLoop
import Logging
import Synchronization
import TransferContainer
import TransferModel
import TransferStore

/// Turns ended attempts into results, in groups: whole files are made durable, claimed for good in
/// the database, renamed, and only then reported completed.
///
/// Confined to a thread of its own, because fsync and rename block. The order is what makes a
/// crash at any point harmless: before `publish` commits, the attempt is simply run again; after
/// it, whoever finds the publication's row repeats the rename, which is idempotent.
actor Publisher {
    /// Attempts ended by one flush at most.
    private static let batchMax = 500
    /// Groups that are made durable and published at once.
    private static let flushesMax = 3
    /// Files up to which each is made durable by itself rather than its whole file system.
    private static let singleSyncMax = 4

    private nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let store: TransferStore
    private let container: Container
    let logger: Logger
    private let onConcluded: @Sendable (_ isAnyBackInQueue: Bool) -> Void
    private nonisolated let inbox = Inbox<Entry>()
    private nonisolated let ends = Inbox<End>()
    private nonisolated let unfinished = Atomic(0)

    /// What is to be ended.
    enum Entry: Sendable {
        /// A whole file, not yet durable.
        case part(PartFile, Publication)
        /// A publication taken over from a dead worker, or one whose rename has to be repeated.
        case publication(Publication)
        /// An end without a result; the part file, if any, is removed unless another attempt goes
        /// on with it.
        case conclusion(Conclusion, part: PartFile?)
        /// A part file that nobody will finish.
        case abandoned(Container.Place)
    }

    /// An attempt that ends, with its part file if that is not the result.
    private struct End: Sendable {
        var conclusion: Conclusion
        var part: PartFile?
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
    nonisolated func arrived() { unfinished.subtract(1, ordering: .relaxed) }

    /// Ends an attempt with one of the next flushes.
    nonisolated func submit(_ entry: Entry) {
        unfinished.add(1, ordering: .relaxed)
        inbox.append(entry)
    }

    /// Ends attempts until cancelled and empty, one group while another waits for the database.
    nonisolated func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.concludeAll() }
            await self.flushAll()
        }
        // What came through the flushes after they were cancelled.
        await concludeAll()
    }

    private nonisolated func flushAll() async {
        await withTaskGroup(of: Void.self) { group in
            var running = 0
            while true {
                if running == Self.flushesMax {
                    await group.next()
                    running -= 1
                }
                let batch = await inbox.next(limit: Self.batchMax)
                if batch.isEmpty { return }
                running += 1
                group.addTask {
                    let ends = await self.flush(batch)
                    for end in ends { self.ends.append(end) }
                    self.unfinished.subtract(batch.count - ends.count, ordering: .relaxed)
                }
            }
        }
    }

    // All that ended while one group was written is the next; two would wait for one session's lock.
    private nonisolated func concludeAll() async {
        while true {
            let batch = await ends.next(limit: Self.batchMax)
            if batch.isEmpty { return }
            for group in distinct(batch, by: \.conclusion.task) { await conclude(group) }
            unfinished.subtract(batch.count, ordering: .relaxed)
        }
    }

    private func flush(_ batch: [Entry]) async -> [End] {
        var ends: [End] = []
        var parts: [(file: PartFile, publication: Publication)] = []
        var publications: [Publication] = []
        for entry in batch {
            switch entry {
            case .part(let file, let publication): parts.append((file, publication))
            case .publication(let publication): publications.append(publication)
            case .conclusion(let conclusion, let part):
                ends.append(End(conclusion: keeping(part, conclusion), part: part))
            case .abandoned(let part): remove(part)
            }
        }
        let resumptions =
            parts.compactMap(\.publication.resumption) + ends.compactMap(\.conclusion.resumption)
        if !resumptions.isEmpty {
            _ = await stored("resumption", resumptions) { resumptions throws(StoreError) in
                try await self.store.recordResumptions(resumptions)
            }
        }
        makeDurable(&parts, failed: &ends)
        publications += await claimForGood(parts)
        return ends + rename(publications).map { End(conclusion: $0) }
    }

    /// Makes the part of an ended attempt durable if another one is to go on with it.
    private func keeping(_ part: PartFile?, _ conclusion: Conclusion) -> Conclusion {
        var conclusion = conclusion
        let isWanted = conclusion.partial != nil && conclusion.verdict.isFollowedByAnother
        guard let part, isWanted else {
            conclusion.partial = nil
            conclusion.abandoned = part?.fence
            return conclusion
        }
        do throws(StorageError) {
            try part.sync()
            conclusion.partial?.bytesDurable = part.bytesWritten
        } catch {
            logger.warning("part file not kept", metadata: ["error": "\(error)"])
            conclusion.partial = nil
            conclusion.abandoned = part.fence
        }
        return conclusion
    }

    /// Looks after the parts of attempts that were taken away: those that somebody may still go on
    /// with are kept, the others removed.
    private func settle(_ parts: [PartFile]) async {
        guard !parts.isEmpty else { return }
        do throws(StoreError) {
            let wanted = try await store.keptParts(parts.map(\.fence))
            for part in parts where !wanted.contains(part.fence) { remove(part.place) }
            let durable = parts.filter { part in
                guard wanted.contains(part.fence) else { return false }
                do throws(StorageError) {
                    try part.sync()
                    return true
                } catch {
                    // Then the bytes count in this boot of the machine only.
                    logger.warning("part file not synced", metadata: ["error": "\(error)"])
                    return false
                }
            }
            guard !durable.isEmpty else { return }
            try await store.recordDurable(
                durable.map { part in
                    (
                        partFence: part.fence, bytes: part.bytesWritten,
                        ranges: part.isSegmented ? part.written : nil
                    )
                }
            )
        } catch {
            // The files stay, and are worth no more than before.
            logger.warning("parts not settled", metadata: ["error": "\(error)"])
        }
    }

    /// Makes the bytes of `parts` durable; those that could not be are taken out as failed.
    private func makeDurable(
        _ parts: inout [(file: PartFile, publication: Publication)],
        failed ends: inout [End]
    ) {
        var errors: [TaskID: StorageError] = [:]
        if parts.count > Self.singleSyncMax {
            do throws(StorageError) {
                try container.syncAll()
            } catch {
                // The error may belong to any of them, so none may be trusted.
                for part in parts { errors[part.publication.task] = error }
            }
        } else {
            for part in parts {
                do throws(StorageError) {
                    try part.file.sync()
                } catch {
                    errors[part.publication.task] = error
                }
            }
        }
        guard !errors.isEmpty else { return }
        for part in parts {
            guard let error = errors[part.publication.task] else { continue }
            ends.append(End(conclusion: retry(part.publication, error), part: part.file))
        }
        parts.removeAll { errors[$0.publication.task] != nil }
    }

    /// Moves the attempts past the point of no return.
    private func claimForGood(
        _ parts: [(file: PartFile, publication: Publication)]
    ) async -> [Publication] {
        var publications: [Publication] = []
        for group in distinct(parts, by: \.publication.task) {
            let accepted = await stored("publish", group.map(\.publication)) {
                publications throws(StoreError) in
                try await self.store.publish(publications)
            }
            // Without an answer nothing is known: the rows decide after the next start.
            guard let accepted else { continue }
            await settle(group.filter { !accepted.contains($0.publication.task) }.map(\.file))
            publications += group.map(\.publication).filter { accepted.contains($0.task) }
        }
        return publications
    }

    /// Gives the files their final names and makes the names durable.
    private func rename(_ publications: [Publication]) -> [Conclusion] {
        var conclusions: [Conclusion] = []
        var directories: Set<String> = []
        var published: [Publication] = []
        for publication in publications {
            let part = Container.Place(partOf: publication)
            let final = Container.Place(of: publication)
            do throws(StorageError) {
                let publishing = try container.publish(
                    part,
                    as: final.name,
                    overwrite: publication.destination?.overwrite ?? true,
                    bytes: publication.result.bytesReceived
                )
                switch publishing {
                case .published:
                    published.append(publication)
                    directories.insert(part.directory)
                case .partLost:
                    conclusions.append(
                        Conclusion(
                            task: publication.task,
                            fence: publication.fence,
                            verdict: .requeued
                        )
                    )
                }
            } catch {
                remove(part)
                conclusions.append(
                    Conclusion(
                        task: publication.task,
                        fence: publication.fence,
                        verdict: .failed(error.failure),
                        bytesReceived: publication.result.bytesReceived,
                        metrics: publication.metrics
                    )
                )
            }
        }
        let undurable = syncNames(directories)
        return conclusions
            + published.map { publication in
                Conclusion(
                    task: publication.task,
                    fence: publication.fence,
                    verdict: undurable.map { .failed($0.failure) } ?? .completed,
                    metrics: publication.metrics
                )
            }
    }

    private func syncNames(_ directories: Set<String>) -> StorageError? {
        do throws(StorageError) {
            guard directories.count <= Self.singleSyncMax else {
                try container.syncAll()
                return nil
            }
            for directory in directories { try container.syncDirectory(directory) }
            return nil
        } catch {
            return error
        }
    }

    private nonisolated func conclude(_ ends: [End]) async {
        let concluded = await stored("conclude", ends.map(\.conclusion)) {
            conclusions throws(StoreError) in
            try await self.store.conclude(conclusions)
        }
        // Without an answer nothing is known, and nothing is removed.
        guard let concluded else { return }
        if concluded.count < ends.count {
            logger.notice(
                "stale attempts dropped",
                metadata: ["count": "\(ends.count - concluded.count)"]
            )
        }
        onConcluded(ends.contains { $0.conclusion.verdict.isBackInQueue })
        var stale: [PartFile] = []
        var unwanted: [PartFile] = []
        for end in ends {
            guard let part = end.part else { continue }
            if !concluded.contains(end.conclusion.task) {
                stale.append(part)
            } else if end.conclusion.abandoned != nil {
                unwanted.append(part)
            }
        }
        await settle(stale)
        await discard(unwanted)
    }

    /// Removes parts that nobody will go on with; whoever finds their rows does it otherwise.
    private func discard(_ parts: [PartFile]) async {
        guard !parts.isEmpty else { return }
        let gone = parts.filter { remove($0.place) }
        guard !gone.isEmpty else { return }
        do throws(StoreError) {
            try await store.forgetAbandonedParts(gone.map(\.fence))
        } catch {
            logger.debug("parts not forgotten", metadata: ["error": "\(error)"])
        }
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

    /// Removes part files that nobody will go on with.
    ///
    /// - Returns: those that are gone.
    func remove(_ parts: [AbandonedPart]) -> [Fence] {
        parts.filter { part in
            let own = Container.Place(
                partOf: part.task,
                destination: part.destination,
                fence: part.fence,
                tenant: part.tenant
            )
            let source = part.sourcePath.map { Container.Place($0, tenant: part.tenant) }
            return remove(own) && (source.map { remove($0) } ?? true)
        }.map(\.fence)
    }

    /// Removes the files of tasks that are to be erased.
    ///
    /// - Returns: the tasks whose files are gone.
    func remove(_ remains: [TaskRemains]) -> [TaskID] { container.discard(remains, logger) }

    /// - Returns: whether the file is gone.
    @discardableResult
    private func remove(_ part: Container.Place) -> Bool { container.discard(part, logger) }
}
