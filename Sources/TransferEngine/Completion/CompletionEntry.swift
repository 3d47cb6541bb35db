import TransferContainer
import TransferModel

/// An item to be ended.
// Indirect, because it is far larger than a reference and passes through several queues.
indirect enum CompletionEntry: Sendable {
    /// A complete file, not yet durable.
    case part(Part, PendingRename)
    /// A pending rename whose file is to be renamed, possibly one taken over from a dead worker.
    case pendingRename(PendingRename)
    /// An end without a result; the part file, if any, is removed unless another attempt resumes
    /// from it.
    case attemptEnd(AttemptEnd, part: Part?)
    /// A part file that no attempt will finish; it is locked until it is removed.
    case abandoned(PartFile)

    /// The resumption to store before the end, unless it is already stored.
    var resumption: Resumption? {
        switch self {
        case .part(_, let pendingRename): pendingRename.resumption
        case .attemptEnd(let attemptEnd, _): attemptEnd.resumption
        case .pendingRename, .abandoned: nil
        }
    }

    /// The fence of a pending rename whose file is to be renamed.
    var renamed: Fence? {
        if case .pendingRename(let pendingRename) = self { pendingRename.fence } else { nil }
    }
}
