import TransferWire

/// What a session has begun and not ended.
struct SessionState {
    /// The creation of the session, which all calls share; a failed one is forgotten.
    var attachment: Task<Result<SessionDocument, TransferError>, Never>?
    /// The reader of the session's events.
    var pump: Task<Void, Never>?
    /// Whether this process has submitted or taken over a task.
    var isUsed = false
    /// Why nothing can be done with the session any more.
    var closing: TransferError?
}
