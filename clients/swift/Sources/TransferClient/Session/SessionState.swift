import TransferWire

/// What a session has begun and not ended.
struct SessionState {
    /// What the creation of the session comes to; nil until that is known.
    typealias Attachment = Watched<Result<SessionDocument, TransferError>?>

    /// The creation of the session, which all calls share; a failed one is forgotten.
    var attachment: Attachment?
    /// The reader of the session's events.
    var pump: Task<Void, Never>?
    /// Whether this process has submitted or taken over a task.
    var isUsed = false
    /// The newest call of the delegate, which the next one waits for.
    var lastCall: Task<Void, Never>?
    /// Whether the program has closed the session, and is told none of its events any more.
    var isClosed = false
    /// Why nothing can be done with the session any more.
    var closing: TransferError?
}
