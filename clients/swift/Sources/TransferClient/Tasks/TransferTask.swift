public import Foundation
import Synchronization
import TransferWire

/// A transfer of a session, after `URLSessionTask`.
///
/// It is created suspended, and its request can be changed until its first ``resume()``.
public final class TransferTask: Sendable {
    /// The kinds of tasks.
    public enum Kind: String, Sendable {
        /// Its result is a file.
        case download
        /// It sends bytes.
        case upload
        /// Its result is a short response, which comes with the task.
        case data
    }

    /// The states of `URLSessionTask`.
    public enum State: Sendable {
        /// It waits for ``TransferTask/resume()``.
        case suspended
        /// It runs, or waits for something else than its client.
        case running
        /// It has ended.
        case completed
    }

    /// The kind.
    public let kind: Kind
    /// The session that the task belongs to.
    public let session: TransferSession
    private let values: Mutex<TaskValues>

    init(kind: Kind, request: TransferRequest, source: UploadSource?, session: TransferSession) {
        self.kind = kind
        self.session = session
        values = Mutex(TaskValues(request: request, source: source))
    }

    /// Creates the handle of a task that the service has.
    init(_ document: TaskDocument, session: TransferSession) {
        kind = Kind(rawValue: document.kind) ?? .download
        self.session = session
        var values = TaskValues(request: TransferRequest(url: document.url), source: nil)
        values.accept(id: document.id, state: document.state)
        self.values = Mutex(values)
        apply(document)
    }
}

extension TransferTask {
    /// The service's identifier of the task; nil until it has been accepted.
    public var taskIdentifier: String? { values.withLock(\.id) }

    /// What the task asks for.
    public var originalRequest: TransferRequest { values.withLock(\.request) }

    /// The state.
    public var state: State {
        values.withLock { values in
            if values.end != nil { return .completed }
            return values.isResumed && values.serviceState != "suspended" ? .running : .suspended
        }
    }

    /// The state as the service names it, such as `waiting_for_retry`; nil until the task has been
    /// accepted.
    public var serviceState: String? { values.withLock(\.serviceState) }

    /// The client string: text that comes back with the task and with each of its events.
    ///
    /// It can be set until the first ``resume()``, and changed later with ``change(_:)``.
    public var taskDescription: String? {
        get { values.withLock(\.description) }
        set { values.withLock { $0.whileNew { $0.description = newValue } } }
    }

    /// The priority from 0 to 1 among tasks for the same host.
    ///
    /// It can be set until the first ``resume()``, and changed later with ``change(_:)``.
    public var priority: Double {
        get { values.withLock(\.priority) ?? TaskValues.priorityDefault }
        set { values.withLock { $0.whileNew { $0.priority = newValue } } }
    }

    /// The time before which the task does not begin.
    ///
    /// It can be set until the first ``resume()``, and changed later with ``change(_:)``.
    public var earliestBeginDate: Date? {
        get { values.withLock(\.earliestBeginDate) }
        set { values.withLock { $0.whileNew { $0.earliestBeginDate = newValue } } }
    }

    /// The number of bytes received so far.
    public var countOfBytesReceived: Int64 { values.withLock(\.bytesReceived) }
    /// The expected number of bytes; -1 while unknown.
    public var countOfBytesExpectedToReceive: Int64 { values.withLock(\.bytesExpected) }
    /// The number of bytes sent so far.
    public var countOfBytesSent: Int64 { values.withLock(\.bytesSent) }
    /// The number of bytes that will be sent; -1 while unknown.
    public var countOfBytesExpectedToSend: Int64 { values.withLock(\.bytesExpectedToSend) }

    /// The newest failure; nil for a task without one.
    public var error: TransferError? {
        values.withLock { values in
            if case .failure(let error) = values.end { error } else { values.failure }
        }
    }

    /// Waits for the end of the task, and returns its result.
    ///
    /// - Throws: ``TransferError``: the failure of the task, `cancelled`, or the reason why the
    ///   service did not accept it or its end cannot be known. The task itself goes on when only
    ///   the caller is cancelled.
    public func result() async throws(TransferError) -> TransferResult {
        let waiter = UUID()
        let end = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let known = values.withLock { $0.wait(waiter, continuation) }
                if let known { continuation.resume(returning: known) }
            }
        } onCancel: {
            let continuation = values.withLock { $0.giveUp(waiter) }
            continuation?.resume(
                returning: .failure(TransferError(.cancelled, "The caller was cancelled."))
            )
        }
        return try end.map(transferResult).get()
    }
}

extension TransferTask {
    /// The body that submits the task.
    var submission: TaskRequest { values.withLock { $0.submission(kind: kind) } }

    /// The file whose bytes the service waits for.
    var stagedFile: URL? {
        values.withLock { if case .file(let file) = $0.source { file } else { nil } }
    }

    /// Marks the task as resumed.
    ///
    /// - Returns: whether it is new, and so has to be submitted.
    func markResumed() -> Bool {
        change { values in
            defer { values.isResumed = true }
            return !values.isResumed
        }
    }

    /// Whether the task was resumed, and has been neither accepted nor refused.
    var isUnanswered: Bool {
        values.withLock { $0.isResumed && $0.id == nil && $0.end == nil }
    }

    /// The lease under which this process has the task; nil for none.
    var lease: String? {
        get { values.withLock(\.lease) }
        set { values.withLock { $0.lease = newValue } }
    }

    func accept(_ receipt: TaskReceipt) {
        change { $0.accept(id: receipt.id, state: receipt.state) }
    }

    func apply(_ document: TaskDocument) {
        let waiting = change { values in
            values.update(document)
            return values.settle(end(of: document), isCounted: true)
        }
        waiting?.resume()
    }

    func apply(_ change: TransferEvent.TaskChange, _ snapshot: EventMessage.Task) {
        let waiting = self.change { values in
            values.update(snapshot, after: change)
            return values.settle(end(of: snapshot, after: change), isCounted: false)
        }
        waiting?.resume()
    }

    /// Ends the task for a reason that no event tells.
    func end(_ error: TransferError) {
        let waiting = change { $0.settle(.failure(error), isCounted: false) }
        waiting?.resume()
    }

    /// Ends a task that was never resumed.
    ///
    /// - Returns: false for one that was.
    func endIfNew(_ error: TransferError) -> Bool {
        let (isNew, waiting) = change { values in
            guard !values.isResumed else { return (false, nil as TaskValues.Settled?) }
            values.isResumed = true
            return (true, values.settle(.failure(error), isCounted: false))
        }
        waiting?.resume()
        return isNew
    }

    /// Ends the task for those who wait for it here: that is no end of the transfer, of which the
    /// delegate would be told.
    func endWithSession(_ error: TransferError) {
        let waiting = change { values in
            let waiting = values.settle(.failure(error), isCounted: false)
            if waiting != nil { _ = values.takeUntoldEnd() }
            return waiting
        }
        waiting?.resume()
    }

    /// Notes the number of bytes of a file that is sent to the service first.
    func expectToSend(_ count: Int64) { change { $0.bytesExpectedToSend = count } }

    /// Forgets the end of a task that has been returned to the queue.
    func reopen() {
        change { values in
            values.end = nil
            values.retriesUntold += 1
        }
    }

    /// Returns whether more may be known of the task than an event tells: a retry of this process
    /// after a failure, or the question of which it tells, from a document.
    ///
    /// A completed task is never retried.
    func mayBeAhead(of change: TransferEvent.TaskChange) -> Bool {
        values.withLock { values in
            if change == .failed || change == .cancelled { return values.retriesUntold > 0 }
            return values.mayKnowQuestion(of: change)
        }
    }

    /// Returns the question that the delegate is to be asked now; nil if it has been asked.
    func takeQuestion() -> TaskValues.Question? { values.withLock { $0.takeQuestion() } }

    /// Returns the end that the delegate is to be told of now; nil if it has been told.
    func takeUntoldEnd() -> Result<TransferResult, TransferError>? {
        values.withLock { $0.takeUntoldEnd() }?.map(transferResult)
    }

    /// What the task's own progress shows.
    var progressValues: ProgressMirror.Values { values.withLock { $0.progress(of: kind) } }

    /// Returns what keeps the task's progress, made when it is first asked for.
    func mirror(orMaking make: () -> ProgressMirror) -> ProgressMirror {
        if let mirror = values.withLock(\.mirror) { return mirror }
        let new = make()
        let mirror = values.withLock { values in
            if values.mirror == nil { values.mirror = new }
            return values.mirror ?? new
        }
        // It may have missed a change on the way.
        mirror.refresh()
        return mirror
    }

    /// Changes what is known of the task, and then what shows it.
    private func change<Value>(_ change: (inout TaskValues) -> Value) -> Value {
        let (value, share, mirror) = values.withLock { values in
            let value = change(&values)
            return (value, values.takeChange(of: kind), values.mirror)
        }
        mirror?.refresh()
        session.totals.add(share)
        return value
    }

    private func transferResult(_ response: TaskDocument.Response?) -> TransferResult {
        TransferResult(task: self, id: taskIdentifier ?? "", response: response)
    }

    private func end(of document: TaskDocument) -> TaskValues.End? {
        switch document.state {
        case "completed": .success(document.response)
        case "failed": .failure(Self.failed(document.error))
        case "cancelled": .failure(Self.cancelled)
        default: nil
        }
    }

    private func end(
        of snapshot: EventMessage.Task,
        after change: TransferEvent.TaskChange
    ) -> TaskValues.End? {
        switch change {
        case .completed: .success(snapshot.response)
        case .failed: .failure(Self.failed(snapshot.error))
        case .cancelled: .failure(Self.cancelled)
        default: nil
        }
    }

    private static func failed(_ failure: TaskDocument.Failure?) -> TransferError {
        failure.map { TransferError($0) }
            ?? TransferError(.unexpectedResponse, "The task failed for a reason that is not told.")
    }

    static let cancelled = TransferError(.cancelled, "The task was cancelled.")
}

extension TransferTask: Hashable {
    /// Whether both are the same handle.
    public static func == (one: TransferTask, other: TransferTask) -> Bool { one === other }

    /// Hashes the identity of the handle.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
