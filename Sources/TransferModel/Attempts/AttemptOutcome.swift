/// The outcome of an attempt, which decides what follows it.
package enum AttemptOutcome: Equatable, Sendable {
    /// The pending rename's file is under its final name and durable.
    case completed
    /// The part file is whole and durable, and is itself the result.
    case fetched(TransferResult, part: Fence)
    /// The origin has answered a data task, or an upload, for which the body may be only the start
    /// of the answer.
    case answered(TransferResult, body: [UInt8])
    /// No further attempt will be made.
    case failed(TransferFailure)
    /// Another attempt follows after the delay.
    case retry(TransferFailure, after: Duration)
    /// The host cannot be reached; another attempt follows after the delay or as soon as the host
    /// is reached, and this attempt does not count.
    case waitForConnectivity(TransferFailure, after: Duration)
    /// This machine is short of a resource, or the host of a copy's source paused; another attempt
    /// follows after the delay, and this one does not count.
    case waitOut(TransferFailure, after: Duration)
    /// The origin wants a credential; another attempt follows the client's answer, which has to
    /// come within the time, and this attempt does not count. The named credential is the one that
    /// did not work.
    case askForCredential(TransferFailure, Origin, named: String?, within: Duration)
    /// Another attempt asks another of the task's URLs, at once or in the next round.
    case moved(TransferFailure, MirrorMove)
    /// The task was given back unharmed, as when the worker stops; the attempt does not count.
    case released
    /// The task returns to the queue because its worker died; the attempt counts.
    case requeued

    /// Whether the task is runnable again, for any worker that has room.
    package var isBackInQueue: Bool {
        switch self {
        case .released, .requeued: true
        case .moved(_, let move): move.wait == .nothing
        case .completed, .fetched, .answered, .failed, .retry, .waitForConnectivity,
            .waitOut, .askForCredential:
            false
        }
    }

    /// Whether another attempt may continue where this one ended; after a failure, once the client
    /// retries the task.
    ///
    /// Of a dead worker's attempt is kept what it had stored itself.
    package var mayBeContinued: Bool {
        switch self {
        case .retry, .waitForConnectivity, .waitOut, .askForCredential, .moved, .released, .failed:
            true
        case .completed, .fetched, .answered, .requeued: false
        }
    }
}
