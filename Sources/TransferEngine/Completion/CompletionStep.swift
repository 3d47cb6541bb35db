import TransferContainer
import TransferModel

/// A change that the database has to be told of.
// Indirect, because it is far larger than a reference and passes through several queues.
indirect enum CompletionStep: Sendable {
    case rename(PendingRename, PartFile)
    /// An end; its part file, if there is one, is removed unless an attempt needs it.
    case end(AttemptEnd, part: Part?)
    /// A pending rename whose file cannot get its name; the part is removed once that is stored,
    /// for whoever finds the pending rename before must find the part too.
    case refuse(PendingRename, AttemptEnd)

    var task: TaskID {
        switch self {
        case .rename(let pendingRename, _), .refuse(let pendingRename, _): pendingRename.task
        case .end(let attemptEnd, _): attemptEnd.task
        }
    }

    var fence: Fence {
        switch self {
        case .rename(let pendingRename, _), .refuse(let pendingRename, _): pendingRename.fence
        case .end(let attemptEnd, _): attemptEnd.fence
        }
    }

    var pendingRename: PendingRename? {
        if case .rename(let pendingRename, _) = self { pendingRename } else { nil }
    }

    var attemptEnd: AttemptEnd? {
        switch self {
        case .rename: nil
        case .end(let attemptEnd, _), .refuse(_, let attemptEnd): attemptEnd
        }
    }
}
