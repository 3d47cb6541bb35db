import Glibc
import Logging
import PollLoop
import TransferContainer
import TransferModel

/// The files and packs of ended attempts that become results: it makes them durable and gives files
/// their final names.
///
/// It works on a thread of its own, because that blocks.
actor ResultFiles {
    private nonisolated let loop: PollLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    let container: Container
    let packs: Packs
    private let partFiles: PartFiles
    private let shortages: Shortages

    init(
        loop: PollLoop,
        container: Container,
        packs: Packs,
        partFiles: PartFiles,
        shortages: Shortages
    ) {
        self.loop = loop
        self.container = container
        self.packs = packs
        self.partFiles = partFiles
        self.shortages = shortages
    }

    /// Whether a shortage is over.
    func isOver(_ shortage: Shortage) -> Bool { container.isOver(shortage) }

    /// Whether the container is still the directory at its path.
    var isInPlace: Bool { container.isInPlace }

    /// Closes the packs to which nothing was added for a while.
    func closeIdlePacks() { packs.closeIdle() }

    /// Closes all packs, for no attempt is left.
    func closePacks() { packs.close() }

    /// Makes files durable, renames those of pending renames and makes their names durable.
    ///
    /// - Returns: what the database has to be told of them, and the pending renames that have to
    ///   wait, each with its reason.
    func write(_ batch: [CompletionEntry]) async -> (
        next: [CompletionStep], waiting: [(PendingRename, TransferFailure)]
    ) {
        var next: [CompletionStep] = []
        var waiting: [(PendingRename, TransferFailure)] = []
        var parts: [(part: Part, pendingRename: PendingRename)] = []
        var renamed: [PendingRename] = []
        for entry in batch {
            switch entry {
            case .part(let part, let pendingRename): parts.append((part, pendingRename))
            case .pendingRename(let pendingRename):
                switch rename(pendingRename) {
                case .done: renamed.append(pendingRename)
                case .wait(let failure): waiting.append((pendingRename, failure))
                case .end(let step): next.append(step)
                }
            case .attemptEnd(let attemptEnd, let part):
                next.append(.end(await partFiles.keeping(part, attemptEnd), part: part))
            case .abandoned(let part): await partFiles.remove(part)
            }
        }
        let (errors, undurable) = makeDurable(parts, renamed)
        for (part, pendingRename) in parts {
            let isStaying = pendingRename.destination == nil
            if let error = errors[pendingRename.task] ?? (isStaying ? undurable : nil) {
                next.append(.end(retry(pendingRename, error), part: part))
            } else if case .file(let file) = part, !isStaying {
                next.append(identified(pendingRename, file))
            } else {
                next.append(.end(AttemptEnd(fetched: pendingRename), part: part))
            }
        }
        if let undurable {
            let failure = failure(of: undurable)
            // The files have their names, but the names are not durable yet.
            return (next, waiting + renamed.map { ($0, failure) })
        }
        next += renamed.map { pendingRename in
            .end(
                AttemptEnd(
                    task: pendingRename.task,
                    fence: pendingRename.fence,
                    outcome: .completed,
                    metrics: pendingRename.metrics
                ),
                part: nil
            )
        }
        return (next, waiting)
    }

    /// Returns the meaning of an error at a place that no client has chosen; a shortage is
    /// reported.
    private func failure(of error: StorageError) -> TransferFailure {
        let failure = container.failure(of: error, isChosen: false)
        if let shortage = failure.shortage { shortages.note(shortage) }
        return failure
    }

    /// Returns the step that begins the rename of a durable file, with the identity by which it
    /// will be known at its destination.
    private func identified(_ pendingRename: PendingRename, _ file: PartFile) -> CompletionStep {
        var pendingRename = pendingRename
        do throws(StorageError) {
            pendingRename.file = try file.identity()
            pendingRename.result.file = pendingRename.file
            return .rename(pendingRename, file)
        } catch {
            return .end(retry(pendingRename, error), part: .file(file))
        }
    }

    /// The outcome of renaming a pending rename's file.
    private enum Renaming {
        case done
        /// This machine is short of a resource: the renaming is tried again, and the task keeps
        /// running.
        case wait(TransferFailure)
        case end(CompletionStep)
    }

    /// Gives a file its final name.
    private func rename(_ pendingRename: PendingRename) -> Renaming {
        let again = AttemptEnd(
            task: pendingRename.task,
            fence: pendingRename.fence,
            outcome: .requeued
        )
        // None begins without them.
        guard let destination = pendingRename.destination, let file = pendingRename.file else {
            return .end(.end(again, part: nil))
        }
        do throws(StorageError) {
            let renaming = try container.rename(
                Container.Place(partOf: pendingRename),
                to: Container.Place(destination.path, tenant: pendingRename.tenant).name,
                overwrite: destination.overwrite,
                identity: file,
                bytes: pendingRename.result.bytesReceived
            )
            switch renaming {
            case .done: return .done
            case .partLost: return .end(.end(again, part: nil))
            }
        } catch {
            var failure = container.failure(of: error, isChosen: true)
            if failure.code == .destinationCollision {
                failure = .destinationCollision(at: destination.path)
            }
            if let shortage = failure.shortage {
                shortages.note(shortage)
                return .wait(failure)
            }
            return .end(.refuse(pendingRename, AttemptEnd(refused: pendingRename, failure)))
        }
    }

    /// Returns the end that runs a task again because its file could not be made durable; nobody
    /// can tell what was lost.
    private func retry(_ pendingRename: PendingRename, _ error: StorageError) -> AttemptEnd {
        let failure = failure(of: error)
        let delay = RetryPolicy.delayBaseDefault.jittered
        return AttemptEnd(
            task: pendingRename.task,
            fence: pendingRename.fence,
            outcome: failure.shortage == nil
                ? .retry(failure, after: delay) : .waitOut(failure, after: delay),
            abandoned: pendingRename.partFence,
            metrics: pendingRename.metrics
        )
    }
}

extension AttemptEnd {
    /// Creates the end of a pending rename whose file cannot get its name.
    fileprivate init(refused pendingRename: PendingRename, _ failure: TransferFailure) {
        self.init(
            task: pendingRename.task,
            fence: pendingRename.fence,
            outcome: .failed(failure),
            bytesReceived: pendingRename.result.bytesReceived,
            abandoned: pendingRename.partFence,
            metrics: pendingRename.metrics
        )
    }

    /// Creates the end of an attempt whose durable file is itself the result.
    fileprivate init(fetched pendingRename: PendingRename) {
        self.init(
            task: pendingRename.task,
            fence: pendingRename.fence,
            outcome: .fetched(pendingRename.result, part: pendingRename.partFence),
            bytesReceived: pendingRename.result.bytesReceived,
            metrics: pendingRename.metrics
        )
    }
}
