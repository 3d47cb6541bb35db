package import TransferModel

/// The result of submitting a request for a background task.
package enum SubmitRequestResult: Sendable {
    case submitted(PendingRequest)
    /// The request was answered before; nothing was done now.
    case replay(IdempotencyRecord.Response)
    /// The idempotency key belongs to another request.
    case idempotencyMismatch
    /// The handler is no longer as it was for the draft; nothing was done, and another draft may
    /// fit.
    case outdated
    /// The client has registered no handler for the identifier, or may not.
    case notPermitted
    /// The tenant has background tasks switched off.
    case unavailable
    case clientForceQuit
    case unknownClient
    /// The client has as many requests of the kind pending as it may.
    case tooManyPending(BackgroundTaskKind)
    /// The kind of the handler has no use for a field of the request.
    case unfit(BackgroundTaskKind)
    /// It may not wait, and would have to, for this reason if that is known.
    case ineligible(RequestWait.Reason?)
}
