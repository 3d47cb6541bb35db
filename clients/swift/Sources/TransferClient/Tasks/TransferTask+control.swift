public import Foundation
public import TransferWire

extension TransferTask {
    /// Starts a new task, or resumes one that was suspended.
    ///
    /// All tasks started in one turn are submitted with one request. A task that the service does
    /// not accept ends with the reason. Other calls about the task wait until one or the other is
    /// known. If a suspended task cannot be resumed, the session's delegate is told, and the task
    /// stays suspended.
    public func resume() { session.resume(self) }

    /// Suspends the task; bytes that were received are kept.
    ///
    /// - Throws: ``TransferError``, for a running request that must not be sent twice with the code
    ///   `request_in_flight`.
    public func suspend() async throws(TransferError) {
        try await control("suspend")
    }

    /// Cancels the task; one that has ended stays as it is.
    ///
    /// One that has not been sent to the service is not sent any more. One that is being submitted
    /// is cancelled once the service has answered.
    ///
    /// - Throws: ``TransferError``: `cancelled` when the caller was cancelled before, and the task
    ///   goes on.
    public func cancel() async throws(TransferError) {
        if try await endIfUnsent() { return }
        try await control("cancel")
    }

    /// Cancels the task and returns the data from which another download can resume.
    ///
    /// - Returns: nil when there is nothing to resume from: the origin has not identified the bytes
    ///   it sent, or the response to an earlier call was lost.
    public func cancelByProducingResumeData() async throws(TransferError) -> String? {
        if try await endIfUnsent() { return nil }
        let request = try await ServiceRequest(
            "POST",
            "\(path())/cancel",
            json: CancelRequest(produceResumeData: true)
        )
        let document = try await session.service.get(request, as: TaskDocument.self)
        apply(document)
        return document.resumeData
    }

    /// Returns a failed or cancelled task to the queue; downloads fetch only the missing bytes.
    public func retry() async throws(TransferError) {
        let id = try await acceptedID()
        // As with a submission, a list may name the task before its handle is followed.
        let document = try await session.registering(isSubmission: true) {
            () async throws(TransferError) in
            let document = try await session.service.control("retry", task: id)
            reopen()
            return (document, [self])
        }
        apply(document)
    }

    /// Changes the task; what is not named stays as it is, and null clears it.
    public func change(_ patch: TaskPatchRequest) async throws(TransferError) {
        let request = try await ServiceRequest("PATCH", path(), json: patch).repeatable()
        apply(try await session.service.get(request, as: TaskDocument.self))
    }

    /// Reads the task from the service.
    @discardableResult
    public func refresh() async throws(TransferError) -> TaskDocument {
        let document = try await session.service.task(acceptedID())
        apply(document)
        return document
    }

    /// Removes an ended task with its result, before its retention is over.
    ///
    /// Once it is removed, no later process takes it over.
    public func remove() async throws(TransferError) {
        do throws(TransferError) {
            _ = try await session.service.call(ServiceRequest("DELETE", path()))
        } catch  where error.problem?.code == .unknownTask || error.problem?.code == .taskExpired {
            // An earlier attempt of the same call has removed it.
        }
        lease = nil
    }

    /// Brings the bytes of an upload that was taken over from a process that could not: those of a
    /// file like the one that was submitted.
    ///
    /// - Throws: ``TransferError``, with the code `file_failure` when the file cannot be read or
    ///   was written to meanwhile.
    public func sendBody(fromFile file: URL) async throws(TransferError) {
        let sender = try await BodySender(
            service: session.service,
            taskID: acceptedID(),
            file: file
        )
        expectToSend(sender.size)
        apply(try await sender.send())
    }

    /// Says whether and how a task begins that waits to be told, in the state `waiting_to_begin`.
    ///
    /// The session sends what its delegate returns by itself; this is for programs whose delegate
    /// has left the answer to somebody else, or that have none.
    ///
    /// - Throws: ``TransferError`` with the code `task_not_asked` when the task does not wait for
    ///   that answer; any other when the answer did not arrive, and can be given again.
    public func begin(_ answer: BeginRequest) async throws(TransferError) {
        try await send(answer, to: "begin")
    }

    /// Gives a task its credential, or none, that waits for one in the state
    /// `waiting_for_authentication`; otherwise like ``begin(_:)``.
    public func authenticate(_ answer: ChallengeRequest) async throws(TransferError) {
        try await send(answer, to: "credential")
    }

    private func send(_ answer: some Encodable, to verb: String) async throws(TransferError) {
        let request = try await ServiceRequest("POST", "\(path())/\(verb)", json: answer)
            .repeatable()
        do throws(TransferError) {
            apply(try await session.service.get(request, as: TaskDocument.self))
        } catch  where error.problem?.code == .taskNotAsked && error.followsLostResponse {
            // An earlier attempt of the same call has answered.
            return
        }
    }

    func control(_ verb: String) async throws(TransferError) {
        apply(try await session.service.control(verb, task: acceptedID()))
    }

    private func path() async throws(TransferError) -> String {
        APIPath.task(try await acceptedID())
    }

    /// Returns the identifier of the task, once its submission has been answered.
    private func acceptedID() async throws(TransferError) -> String {
        try await session.submitter.awaitAnswer(to: self)
        guard let id = taskIdentifier else { throw error ?? Self.notResumed }
        return id
    }

    /// Ends a task that has not been sent to the service.
    ///
    /// - Returns: whether there is nothing to cancel there: also when the service has refused it.
    private func endIfUnsent() async throws(TransferError) -> Bool {
        if endIfNew(Self.cancelled) || session.submitter.cancel(self) { return true }
        try await session.submitter.awaitAnswer(to: self)
        return taskIdentifier == nil && state == .completed
    }

    private static let notResumed = TransferError(
        .misconfigured,
        "The task has not been resumed, so that the service does not know it."
    )
}
