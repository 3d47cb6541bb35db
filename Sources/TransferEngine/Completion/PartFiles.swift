import Logging
import PollLoop
import TransferContainer
import TransferModel
import TransferStore

/// The part files that are not results: those from which an attempt will resume are kept, the
/// others removed.
///
/// It works on the completer's thread for files, because that blocks.
actor PartFiles {
    private nonisolated let loop: PollLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let store: PartStore
    private let container: Container
    private let logger: Logger

    init(loop: PollLoop, store: PartStore, container: Container, logger: Logger) {
        self.loop = loop
        self.store = store
        self.container = container
        self.logger = logger
    }

    /// Makes the part of an ended attempt durable if another attempt may resume from it.
    func keeping(_ part: Part?, _ attemptEnd: AttemptEnd) -> AttemptEnd {
        var attemptEnd = attemptEnd
        guard case .file(let part) = part else { return attemptEnd.withoutPart(part?.fence) }
        guard attemptEnd.partial != nil, attemptEnd.outcome.mayBeContinued else {
            // The database may need the space to store the end, after which the file goes.
            clear(part)
            return attemptEnd.withoutPart(part.fence)
        }
        do throws(StorageError) {
            try part.sync()
            attemptEnd.partial?.bytesDurable = part.bytesWritten
        } catch {
            logger.warning("part file not kept", metadata: ["error": "\(error)"])
            clear(part)
            return attemptEnd.withoutPart(part.fence)
        }
        return attemptEnd
    }

    /// Settles the parts of attempts that were taken away: those from which an attempt may still
    /// resume are kept, the others removed.
    ///
    /// Asks until the database has answered, for only this worker knows all of these parts.
    func settle(_ ended: [(task: TaskID, part: Part)]) async {
        guard !ended.isEmpty else { return }
        let wanted = await untilAnswered { () throws(StoreError) in
            try await self.store.keptParts(ended.map { ($0.task, $0.part.fence) })
        }
        guard let wanted else { return }
        let staying = ended.filter { !wanted.contains($0.part.fence) && !remove($0.part.place) }
        let durable = ended.compactMap { _, part -> PartFile? in
            // No attempt resumes from a pack, and a result in one is durable.
            guard wanted.contains(part.fence), case .file(let file) = part else { return nil }
            do throws(StorageError) {
                try file.sync()
                return file
            } catch {
                logger.warning("part file not synced", metadata: ["error": "\(error)"])
                clear(file)
                return nil
            }
        }
        _ = await untilAnswered { () throws(StoreError) in
            try await self.store.recordAbandoned(staying.map { ($0.task, $0.part.fence) })
            try await self.store.recordDurable(
                durable.map { part in
                    (partFence: part.fence, bytes: part.bytesWritten, ranges: part.written)
                }
            )
        }
    }

    /// Discards the bytes of a part from which no attempt may resume.
    ///
    /// Of bytes that could not be flushed, the kernel tells once: the next attempt would go on
    /// behind them, and flush the file without an error.
    private func clear(_ part: PartFile) {
        do throws(StorageError) {
            try part.clear()
        } catch {
            logger.warning("part file not cleared", metadata: ["error": "\(error)"])
            _ = remove(part.place)
        }
    }

    /// Asks the database until it has answered; nil when the service stops first or the database
    /// refuses.
    private func untilAnswered<Answer: Sendable>(
        _ question: () async throws(StoreError) -> Answer
    ) async -> Answer? {
        while true {
            do throws(StoreError) {
                return try await question()
            } catch  where error.isUnavailable && !error.isContended {
                do { try await Task.sleep(for: EndWriter.retryInterval.jittered) } catch {
                    return nil
                }
            } catch {
                logger.error("parts not settled", metadata: ["error": "\(error)"])
                return nil
            }
        }
    }

    /// Removes parts from which no attempt will resume; those left over are removed when their rows
    /// are found.
    func discard(_ parts: [(fence: Fence, place: Container.Place)]) async {
        guard !parts.isEmpty else { return }
        let gone = parts.filter { remove($0.place) }
        guard !gone.isEmpty else { return }
        do throws(StoreError) {
            try await store.forgetAbandonedParts(gone.map(\.fence))
        } catch {
            logger.debug("parts not forgotten", metadata: ["error": "\(error)"])
        }
    }

    /// Removes part files from which no attempt will resume.
    ///
    /// - Returns: the fences of the parts that are gone.
    func remove(_ parts: [AbandonedPart]) -> [Fence] {
        var failures: [StorageError] = []
        let gone = parts.filter { part in
            do throws(StorageError) {
                for place in part.places { try container.removePart(at: place) }
                return true
            } catch {
                failures.append(error)
                return false
            }
        }
        if let error = failures.first {
            logger.warning(
                "files not removed",
                metadata: ["count": "\(failures.count)", "error": "\(error)"]
            )
        }
        return gone.map(\.fence)
    }

    /// Returns those of a tenant's uploads whose bytes, brought by their client, are still there.
    ///
    /// Of a file that cannot be looked at, the attempt will say why.
    func tasksWithBodies(_ uploads: [TaskID], of tenant: TenantID) -> [TaskID] {
        uploads.filter { upload in
            let place = StagedBody.place(of: upload, tenant: tenant)
            do throws(StorageError) {
                return try container.size(of: place) != nil
            } catch {
                logger.warning("body of an upload not found", metadata: ["error": "\(error)"])
                return true
            }
        }
    }

    /// Removes the files of tasks that will be erased.
    ///
    /// - Returns: the tasks whose files are gone.
    func remove(_ remains: [TaskRemains]) -> [TaskID] { container.discard(remains, logger) }

    /// Removes a part file that nobody may resume from, and only then unlocks it.
    func remove(_ part: PartFile) {
        container.discard(part.place, logger)
        part.unlock()
    }

    /// Removes a part file, or the result in a pack that would have it.
    ///
    /// - Returns: whether the file is gone.
    private func remove(_ part: Container.Place) -> Bool { container.discard(part, logger) }
}

extension AttemptEnd {
    /// Returns this end without a part file, or with one from which no attempt resumes.
    func withoutPart(_ abandoned: Fence? = nil) -> AttemptEnd {
        var attemptEnd = self
        attemptEnd.partial = nil
        attemptEnd.abandoned = abandoned
        return attemptEnd
    }
}
