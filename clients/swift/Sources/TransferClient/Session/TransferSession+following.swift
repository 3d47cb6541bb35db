import Synchronization
import TransferWire

extension TransferSession {
    /// Creates the session, or finds it again, and starts to follow its events.
    ///
    /// - Returns: the session as it was when this process first used it.
    func attach() async throws(TransferError) -> SessionDocument {
        let attachment = try state.withLock { state throws(TransferError) in
            if let closing = state.closing { throw closing }
            if let attachment = state.attachment { return attachment }
            let attachment = SessionState.Attachment(nil)
            state.attachment = attachment
            // Its callers share it, so that it belongs to none of them.
            Task { await create(attachment) }
            return attachment
        }
        let document = try await attachment.first { $0 }.get()
        follow(document)
        return document
    }

    /// Returns what ``attach()`` returned first, also when the session has ended since.
    func firstDocument() async throws(TransferError) -> SessionDocument {
        guard let attachment = state.withLock(\.attachment),
            case .success(let document) = try await attachment.first({ $0 })
        else { return try await attach() }
        return document
    }

    private func create(_ attachment: SessionState.Attachment) async {
        do throws(TransferError) {
            let document = try await service.makeSession(
                configuration.identifier,
                configuration.request
            )
            attachment.change { $0 = .success(document) }
        } catch {
            // Before anybody knows of it: the next call makes another one.
            state.withLock { $0.attachment = nil }
            attachment.change { $0 = .failure(error) }
        }
    }

    /// Starts the reader of events, unless it runs.
    private func follow(_ document: SessionDocument) {
        state.withLock { state in
            guard state.pump == nil, state.closing == nil else { return }
            // It runs until the session ends or is closed, whoever called first.
            state.pump = Task { await pumpEvents(of: document) }
        }
    }

    /// Runs a call that names tasks, and follows these from then on.
    ///
    /// Events about them wait for the call, so that none is missed. A call that submits them
    /// `isSubmission`; another one that names tasks waits for such calls before it follows any, or
    /// one task could have two handles.
    func registering<Value>(
        isSubmission: Bool = false,
        _ call: () async throws(TransferError) -> (Value, [TransferTask])
    ) async throws(TransferError) -> Value {
        let ticket = registry.announce(isSubmission: isSubmission)
        do throws(TransferError) {
            _ = try await attach()
            let (value, tasks) = try await call()
            registry.fulfil(ticket, with: tasks)
            if let closing = state.withLock(\.closing) {
                // Its tasks were followed too late to be told of the end.
                for task in tasks { task.endWithSession(closing) }
            }
            return value
        } catch {
            registry.fulfil(ticket, with: [])
            throw error
        }
    }

    /// Returns the handle of a task, the same as before if it is followed already.
    func follow(_ document: TaskDocument) -> TransferTask {
        let task = registry.handle(of: document.id) { TransferTask(document, session: self) }
        task.apply(document)
        return task
    }

    func resume(_ task: TransferTask) {
        if task.markResumed() {
            state.withLock { $0.isUsed = true }
            submitter.add(task)
        } else if task.state == .suspended {
            // `resume()` returns at once, as URLSession's does; the delegate learns of a failure.
            Task {
                do throws(TransferError) {
                    try await task.control("resume")
                } catch {
                    tellFailure(of: task, error)
                }
            }
        }
    }

    /// Ends a task that the service has not accepted.
    ///
    /// It returns before the delegate is told, whose callback may wait for the submission to end.
    func refused(_ task: TransferTask, _ error: TransferError) {
        registry.remove(task)
        task.end(error)
        tell { await self.tellEnd(of: task, to: $0) }
    }

    /// Ends an upload whose bytes cannot be sent, at the service and here.
    ///
    /// The service comes first: a program may exit once it is told, and the task would then wait
    /// for its bytes for ever.
    func abandon(_ task: TransferTask, _ error: TransferError) async {
        // The end is that error, and not the cancellation of which an event tells.
        registry.remove(task)
        var failure: TransferError?
        if let id = task.taskIdentifier {
            do throws(TransferError) {
                _ = try await service.control("cancel", task: id)
            } catch {
                failure = error
            }
        }
        refused(task, error)
        if let failure { tellFailure(of: task, failure) }
    }

    /// Tells that a call failed which the session made by itself.
    func tellFailure(of task: TransferTask?, _ error: TransferError) {
        tell { await $0.urlSession(self, task: task, didFailWithoutEnding: error) }
    }
}

extension EventCursor {
    /// Names the place behind the newest event of a session.
    init(_ session: SessionDocument) {
        self.init(sessionID: session.id, sequence: session.lastEventSequence)
    }
}

extension TransferSession {
    /// The pause before a task that could not be read is read again, and events of which some were
    /// removed unread.
    private static let readingPause: Duration = .seconds(1)

    /// Reads the events of the session until it ends, and tells its tasks and its delegate.
    func pumpEvents(of session: SessionDocument) async {
        var cursor = EventCursor(session)
        while true {
            do throws(TransferError) {
                for try await event in events(after: cursor) { try await tell(event) }
                return becomeInvalid(nil)
            } catch {
                if error.code == .cancelled { return }
                guard error.problem?.code == .eventsExpired,
                    let oldest = error.problem?.oldestSequence
                else { return becomeInvalid(error) }
                cursor = EventCursor(sessionID: session.id, sequence: max(oldest, 1) - 1)
            }
            do throws(TransferError) {
                try await TransferService.pause(Self.readingPause)
            } catch {
                return
            }
            let isOver = await hasEnded(session)
            await refreshTasks()
            if isOver { return becomeInvalid(nil) }
        }
    }

    /// Whether the session has ended, also when another one has its name; false when that cannot be
    /// told now.
    private func hasEnded(_ session: SessionDocument) async -> Bool {
        do throws(TransferError) {
            return try await service.session(configuration.identifier).id != session.id
        } catch {
            return error.problem?.code == .unknownSession
        }
    }

    /// Reads all tasks that are followed, some of whose events are gone.
    private func refreshTasks() async {
        for task in registry.all { await refresh(task) }
    }

    /// Reads a task whose events do not tell whether it has ended, or what it asks.
    private func refresh(_ task: TransferTask) async {
        do throws(TransferError) {
            try await read(task)
            if task.state == .completed { registry.remove(task) }
            await tellEvent { await self.tellState(of: task, to: $0) }
        } catch  where error.code == .cancelled {
            // The session is closed, which ends its tasks.
            return
        } catch {
            refused(task, error)
        }
    }

    /// Reads a task, and like the reader of events waits for a service that is not there: nothing
    /// has ended because of that.
    private func read(_ task: TransferTask) async throws(TransferError) {
        while true {
            do throws(TransferError) {
                try await task.refresh()
                return
            } catch {
                guard RetryPolicy.isCurable(error, isRepeatable: true) else { throw error }
            }
            try await TransferService.pause(Self.readingPause)
        }
    }

    private func becomeInvalid(_ error: TransferError?) {
        let reason = error ?? TransferError(.sessionClosed, "The session has ended.")
        // Whoever has closed it is told no more.
        guard shut(reason) else { return }
        leases.abandon()
        tell { await $0.urlSession(self, didBecomeInvalidWithError: error) }
    }

    private func tell(_ event: TransferEvent) async throws(TransferError) {
        switch event.kind {
        case .task(let change, let snapshot):
            guard let task = try await registry.task(snapshot.id) else { return }
            // A retry may have undone the end before this event of it came, and a question may have
            // been answered.
            if task.mayBeAhead(of: change) { return await refresh(task) }
            await tell(change, of: task, snapshot)
        case .eventsFinished:
            // What is being taken over is told first: it is of this generation or of one before.
            try await registry.awaitReconnections()
            await tellEvent {
                await $0.urlSessionDidFinishEvents(forBackgroundURLSession: self)
            }
        default: return
        }
    }

    private func tell(
        _ change: TransferEvent.TaskChange,
        of task: TransferTask,
        _ snapshot: EventMessage.Task
    ) async {
        let received = task.countOfBytesReceived
        let sent = task.countOfBytesSent
        task.apply(change, snapshot)
        switch change {
        case .progress:
            await tellEvent {
                await self.tellProgress(of: task, received: received, sent: sent, to: $0)
            }
        case .resumedAtOffset:
            await tellEvent {
                await $0.urlSession(
                    self,
                    downloadTask: task,
                    didResumeAtOffset: snapshot.countOfBytesReceived,
                    expectedTotalBytes: task.countOfBytesExpectedToReceive
                )
            }
        case .waiting:
            await tellEvent {
                await $0.urlSession(self, taskIsWaitingForConnectivity: task)
            }
        case .completed, .failed, .cancelled:
            registry.remove(task)
            await tellEvent { await self.tellEnd(of: task, to: $0) }
        case .willBegin, .authenticationRequired:
            await tellEvent { await self.ask(task, $0) }
        // The file of a download is told of with its end, which follows at once.
        case .downloadFinished, .created, .retried, .resumed, .suspended: return
        }
    }

    private func tellProgress(
        of task: TransferTask,
        received: Int64,
        sent: Int64,
        to delegate: any TransferSessionDelegate
    ) async {
        if task.countOfBytesReceived > received, task.kind == .download {
            await delegate.urlSession(
                self,
                downloadTask: task,
                didWriteData: task.countOfBytesReceived - received,
                totalBytesWritten: task.countOfBytesReceived,
                totalBytesExpectedToWrite: task.countOfBytesExpectedToReceive
            )
        }
        if task.countOfBytesSent > sent {
            await delegate.urlSession(
                self,
                task: task,
                didSendBodyData: task.countOfBytesSent - sent,
                totalBytesSent: task.countOfBytesSent,
                totalBytesExpectedToSend: task.countOfBytesExpectedToSend
            )
        }
    }

    /// Tells what a document of the service has shown of a task: its end, or what it asks.
    func tellState(of task: TransferTask, to delegate: any TransferSessionDelegate) async {
        await tellEnd(of: task, to: delegate)
        await ask(task, delegate)
    }

    /// Tells the end of a task, unless that has been done or a retry has undone it.
    private func tellEnd(of task: TransferTask, to delegate: any TransferSessionDelegate) async {
        switch task.takeUntoldEnd() {
        case .success(let result):
            if task.kind == .download {
                await delegate.urlSession(self, downloadTask: task, didFinishDownloading: result)
            }
            await delegate.urlSession(self, task: task, didCompleteWithError: nil)
        case .failure(let error):
            await delegate.urlSession(self, task: task, didCompleteWithError: error)
        case nil: return
        }
    }

    /// Asks the delegate what a task waits for, unless that has been done, and sends the answer.
    private func ask(_ task: TransferTask, _ delegate: any TransferSessionDelegate) async {
        do throws(TransferError) {
            switch task.takeQuestion() {
            case .begin:
                let answer = await delegate.urlSession(self, willBeginDelayedRequest: task)
                if let answer { try await task.begin(answer) }
            case .credential(let challenges):
                let answer = await delegate.urlSession(self, task: task, didReceive: challenges)
                if let answer { try await task.authenticate(answer) }
            case nil: return
            }
        } catch  where error.problem?.code == .taskNotAsked {
            // Somebody else has answered.
            return
        } catch {
            await delegate.urlSession(self, task: task, didFailWithoutEnding: error)
        }
    }
}
