package import TransferModel

/// The result of a submission.
package enum SubmitResult: Equatable, Sendable {
    /// All tasks are stored; `signals` are to be told.
    case accepted(generation: Int64, signals: Set<Signal>)
    case unknownSession
    /// The session ends with its outstanding tasks; nothing was stored.
    case sessionFinishing
    /// The session's client was force-quit and not launched since; nothing was stored.
    case clientForceQuit
    /// Some of the tasks are data tasks, which the session does not accept; nothing was stored.
    case dataNeedsEphemeralSession
    /// Some of the resume data named does not exist, or no longer; nothing was stored.
    case unknownResumeData
    /// Too many tasks of all tenants together wait already; nothing was stored.
    case queueFull
    /// The request was answered before; nothing was done now.
    case replay(IdempotencyRecord.Response)
    /// The idempotency key belongs to another request.
    case idempotencyMismatch
}
