import Glibc
import Logging
import TransferContainer
import TransferModel
import TransferStore

/// The publisher's work on files.
extension Publisher {
    /// The number of files and directories up to which each is made durable by itself rather than
    /// with its whole file system.
    private static let singleSyncMax = 4

    /// Makes files durable, renames published files and makes their names durable.
    ///
    /// - Returns: what the database has to be told of them, and the publications that have to wait.
    func write(_ batch: [Entry]) async -> (next: [Step], waiting: [Publication]) {
        var next: [Step] = []
        var waiting: [Publication] = []
        var parts: [(file: PartFile, publication: Publication)] = []
        var published: [Publication] = []
        var resumptions: [Resumption] = []
        for entry in batch {
            switch entry {
            case .part(let file, let publication):
                parts.append((file, publication))
                if let resumption = publication.resumption { resumptions.append(resumption) }
            case .publication(let publication):
                switch rename(publication) {
                case .done: published.append(publication)
                case .wait: waiting.append(publication)
                case .end(let step): next.append(step)
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
                try await self.stores.parts.recordResumptions(resumptions)
            }
            if let untold = stored?.heldUp, !untold.isEmpty {
                logger.notice("resumptions not told", metadata: ["count": "\(untold.count)"])
            }
        }
        let (errors, undurable) = makeDurable(parts, published)
        for (file, publication) in parts {
            let isStaying = publication.destination == nil
            if let error = errors[publication.task] ?? (isStaying ? undurable : nil) {
                next.append(.conclude(retry(publication, error), part: file))
            } else if isStaying {
                next.append(.conclude(Conclusion(fetched: publication), part: file))
            } else {
                next.append(identified(publication, file))
            }
        }
        if let undurable {
            _ = failure(of: undurable)
            // The files have their names, but the names are not durable yet.
            return (next, waiting + published)
        }
        next += published.map { publication in
            .conclude(
                Conclusion(
                    task: publication.task,
                    fence: publication.fence,
                    verdict: .completed,
                    metrics: publication.metrics
                ),
                part: nil
            )
        }
        return (next, waiting)
    }

    /// Makes new files durable, and the names of files that have received theirs.
    ///
    /// - Returns: the errors by task, and the error of the names.
    private func makeDurable(
        _ parts: [(file: PartFile, publication: Publication)],
        _ published: [Publication]
    ) -> (errors: [TaskID: StorageError], undurable: StorageError?) {
        // Collected only where there are so few files that each is made durable by itself.
        let directories = parts.count > Self.singleSyncMax ? [] : homes(parts, published)
        var errors: [TaskID: StorageError] = [:]
        var undurable: StorageError?
        if parts.count + directories.count > Self.singleSyncMax {
            do throws(StorageError) {
                try container.syncAll()
            } catch {
                // The error may concern any of them, so none can be trusted.
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
        return (errors, undurable)
    }

    /// The directories in which files have received their final name.
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
            do throws(StorageError) {
                for directory in directories { try container.syncDirectory(directory) }
            } catch  where [EMFILE, ENFILE].contains(error.errno) {
                // This needs no descriptor.
                try container.syncAll()
            }
            return nil
        } catch {
            return error
        }
    }

    /// Returns the meaning of an error at a place that no client has chosen; a shortage is
    /// reported.
    private func failure(of error: StorageError) -> TransferFailure {
        let failure = container.failure(of: error, isChosen: false)
        if let shortage = failure.shortage { shortages.note(shortage) }
        return failure
    }

    /// Returns the step that publishes a durable file with the identity by which it will be known
    /// at its destination.
    private func identified(_ publication: Publication, _ file: PartFile) -> Step {
        var publication = publication
        do throws(StorageError) {
            publication.file = try file.identity()
            return .publish(publication, file)
        } catch {
            return .conclude(retry(publication, error), part: file)
        }
    }

    /// The outcome of renaming a publication's file.
    private enum Renaming {
        case done
        /// This machine is short of a resource: the renaming is tried again, and the task keeps
        /// running.
        case wait
        case end(Step)
    }

    /// Gives a file its final name.
    private func rename(_ publication: Publication) -> Renaming {
        do throws(StorageError) {
            let publishing = try container.publish(
                Container.Place(partOf: publication),
                as: Container.Place(of: publication).name,
                overwrite: publication.destination?.overwrite ?? true,
                identity: publication.file,
                bytes: publication.result.bytesReceived
            )
            switch publishing {
            case .published: return .done
            case .partLost:
                return .end(
                    .conclude(
                        Conclusion(
                            task: publication.task,
                            fence: publication.fence,
                            verdict: .requeued
                        ),
                        part: nil
                    )
                )
            }
        } catch {
            let failure = container.failure(of: error, isChosen: true)
            if let shortage = failure.shortage {
                shortages.note(shortage)
                return .wait
            }
            return .end(.refuse(publication, Conclusion(refused: publication, failure)))
        }
    }

    /// Returns the conclusion that runs a task again because its file could not be made durable;
    /// nobody can tell what was lost.
    private func retry(_ publication: Publication, _ error: StorageError) -> Conclusion {
        let failure = failure(of: error)
        let delay = RetryPolicy.delayBaseDefault.jittered
        return Conclusion(
            task: publication.task,
            fence: publication.fence,
            verdict: failure.shortage == nil
                ? .retry(failure, after: delay) : .waitOut(failure, after: delay),
            abandoned: publication.partFence,
            metrics: publication.metrics
        )
    }
}

extension Conclusion {
    /// Creates the conclusion of a publication whose file cannot get its name.
    fileprivate init(refused publication: Publication, _ failure: TransferFailure) {
        self.init(
            task: publication.task,
            fence: publication.fence,
            verdict: .failed(failure),
            bytesReceived: publication.result.bytesReceived,
            abandoned: publication.partFence,
            metrics: publication.metrics
        )
    }

    /// Creates the conclusion of an attempt whose durable file is itself the result.
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
