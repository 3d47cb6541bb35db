import Foundation
import TransferWire

/// What a handle knows of its task.
struct TaskValues: Sendable {
    /// The priority of a task that sets none, as in URLSession.
    static let priorityDefault = 0.5

    /// The end of a task, without its handle.
    ///
    /// With a ``TransferResult``, which has one, task and result would keep each other.
    typealias End = Result<TaskDocument.Response?, TransferError>
    private typealias Waiters = [UUID: CheckedContinuation<End, Never>]

    /// Callers that learn of an end once the lock is free.
    struct Settled {
        fileprivate let end: End
        fileprivate let waiters: [CheckedContinuation<End, Never>]

        func resume() { for waiter in waiters { waiter.resume(returning: end) } }
    }

    /// What a task asks its client before it continues.
    enum Question: Sendable {
        /// Whether and how to begin.
        case begin
        /// A credential.
        case credential([TaskDocument.Failure.Challenge])

        /// Reads the question of a task in `state`; nil if it asks none.
        init?(_ state: String, _ failure: TaskDocument.Failure?) {
            switch state {
            case "waiting_to_begin": self = .begin
            case "waiting_for_authentication": self = .credential(failure?.challenges ?? [])
            default: return nil
            }
        }
    }

    let request: TransferRequest
    let source: UploadSource?
    var id: String?
    var serviceState: String?
    var isResumed = false
    var description: String?
    var priority: Double?
    var earliestBeginDate: Date?
    var bytesReceived: Int64 = 0
    var bytesExpected: Int64 = -1
    var bytesSent: Int64 = 0
    var bytesExpectedToSend: Int64 = -1
    var failure: TransferError?
    var end: End? { didSet { isEndTold = false } }
    private var isEndTold = false
    /// The question that the task asks, until somebody here has been asked it.
    private var question: Question?
    /// The end of the time to answer the last question that a document has shown, by which one
    /// question is told from another; events do not have it.
    private var questionUntil: Timestamp?
    /// The lease under which this process has the task; nil for none.
    var lease: String?
    /// The number of retries of this process whose events have not come; an end that comes before
    /// them may be one that the retry has undone.
    var retriesUntold = 0
    /// The progress that shows the counts, once somebody has asked for it.
    var mirror: ProgressMirror?
    /// What the session's progress has of the task.
    var share = TaskShare()
    private var waiters: Waiters = [:]
    private var givenUp: Set<UUID> = []

    init(request: TransferRequest, source: UploadSource?) {
        self.request = request
        self.source = source
        if case .bytes(let bytes) = source { bytesExpectedToSend = Int64(bytes.count) }
    }

    /// Changes what only a new task can change.
    mutating func whileNew(_ change: (inout TaskValues) -> Void) {
        precondition(!isResumed, "a task that was resumed is changed with change(_:)")
        change(&self)
    }

    mutating func accept(id: String, state: String) {
        self.id = id
        serviceState = state
        isResumed = true
    }

    mutating func update(_ document: TaskDocument) {
        description = document.clientPersistedString
        priority = document.priority
        earliestBeginDate = document.earliestBeginAt?.date
        guard end == nil else { return }
        serviceState = document.state
        bytesReceived = max(0, document.countOfBytesReceived)
        bytesExpected = document.countOfBytesExpectedToReceive
        bytesSent = max(0, document.countOfBytesSent)
        // The client may know the number before the service does.
        bytesExpectedToSend = max(bytesExpectedToSend, document.countOfBytesExpectedToSend)
        failure = document.error.map { TransferError($0) }
        guard let asked = Question(document.state, document.error) else {
            question = nil
            return
        }
        guard document.until == nil || document.until != questionUntil else { return }
        (question, questionUntil) = (asked, document.until)
    }

    mutating func update(_ snapshot: EventMessage.Task, after change: TransferEvent.TaskChange) {
        if change == .retried, retriesUntold > 0 {
            // The retry itself has forgotten the end before it; what is known now is newer.
            retriesUntold -= 1
        } else if change == .retried {
            end = nil
        }
        // An older event may come after a newer document has told the end.
        guard end == nil else { return }
        serviceState = snapshot.state
        bytesReceived = max(0, snapshot.countOfBytesReceived)
        if let expected = snapshot.countOfBytesExpectedToReceive { bytesExpected = expected }
        if let sent = snapshot.countOfBytesSent { bytesSent = max(0, sent) }
        if let expected = snapshot.countOfBytesExpectedToSend { bytesExpectedToSend = expected }
        failure = snapshot.error.map { TransferError($0) }
        let asked = Question(snapshot.state, snapshot.error)
        if change.isQuestion || asked == nil { question = asked }
    }

    /// Whether an event may be of a question that a document has shown before.
    func mayKnowQuestion(of change: TransferEvent.TaskChange) -> Bool {
        change.isQuestion && questionUntil != nil
    }

    /// Returns the question that is to be asked now, once.
    mutating func takeQuestion() -> Question? {
        defer { question = nil }
        return end == nil ? question : nil
    }

    /// Returns the end if the delegate is to be told of it now, once.
    mutating func takeUntoldEnd() -> End? {
        guard let end, !isEndTold else { return nil }
        isEndTold = true
        return end
    }

    /// Stores an end; `isCounted` if the bytes that were sent came with it.
    ///
    /// - Returns: the callers to tell; nil when there is no end, or was one before.
    mutating func settle(_ newEnd: End?, isCounted: Bool) -> Settled? {
        guard let newEnd, end == nil else { return nil }
        end = newEnd
        // An event of an end does not count them. All were sent, unless the origin answered early,
        // which only the task's document tells.
        if !isCounted, case .success = newEnd, bytesExpectedToSend > bytesSent {
            bytesSent = bytesExpectedToSend
        }
        defer { waiters = [:] }
        return Settled(end: newEnd, waiters: Array(waiters.values))
    }

    /// Lets a caller wait, unless the end is known.
    mutating func wait(_ waiter: UUID, _ continuation: CheckedContinuation<End, Never>) -> End? {
        if let end { return end }
        guard givenUp.remove(waiter) == nil else {
            return .failure(TransferError(.cancelled, "The caller was cancelled."))
        }
        waiters[waiter] = continuation
        return nil
    }

    /// Lets a caller wait no longer, which may be before it has started to.
    mutating func giveUp(_ waiter: UUID) -> CheckedContinuation<End, Never>? {
        if let continuation = waiters.removeValue(forKey: waiter) { return continuation }
        if end == nil { givenUp.insert(waiter) }
        return nil
    }

    /// Returns the body that submits the task.
    func submission(kind: TransferTask.Kind) -> TaskRequest {
        TaskRequest(
            target: .url(request.url),
            headers: request.allHTTPHeaderFields,
            clientPersistedString: description,
            earliestBeginAt: earliestBeginDate.map { Timestamp($0) },
            priority: priority,
            destination: request.destination.map {
                DestinationRequest(path: $0, overwrite: request.overwritesDestination)
            },
            resumeData: request.resumeData,
            options: OptionMembers(request.options),
            kind: kind.rawValue,
            method: request.httpMethod,
            upload: source.map { UploadRequest($0) },
            body: request.httpBody.map { BodyRequest($0) }
        )
    }
}

extension TransferEvent.TaskChange {
    /// Whether the task asks its client something.
    fileprivate var isQuestion: Bool { self == .willBegin || self == .authenticationRequired }
}

extension UploadRequest {
    fileprivate init(_ source: UploadSource) {
        switch source {
        case .file: self.init(staged: true)
        case .bytes(let bytes): self.init(body: BodyRequest(bytes))
        case .container(let path): self.init(path: path)
        case .copy(let copy): self.init(copy: copy)
        }
    }
}

extension BodyRequest {
    fileprivate init(_ bytes: [UInt8]) { self.init(base64: Data(bytes).base64EncodedString()) }
}
