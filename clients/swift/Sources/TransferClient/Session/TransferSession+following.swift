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
            // Its callers share it, so that it belongs to none of them.
            let attachment = Task { await create() }
            state.attachment = attachment
            return attachment
        }
        do throws(TransferError) {
            let document = try await attachment.value.get()
            follow(document)
            return document
        } catch {
            state.withLock { state in
                if state.attachment == attachment { state.attachment = nil }
            }
            throw error
        }
    }

    /// Returns what ``attach()`` returned first, also when the session has ended since.
    func firstDocument() async throws(TransferError) -> SessionDocument {
        guard let attachment = state.withLock(\.attachment),
            case .success(let document) = await attachment.value
        else { return try await attach() }
        return document
    }

    private func create() async -> Result<SessionDocument, TransferError> {
        do throws(TransferError) {
            return .success(
                try await service.get(
                    ServiceRequest(
                        "PUT",
                        APIPath.session(configuration.identifier),
                        json: configuration.request
                    ).ofClient()
                )
            )
        } catch {
            return .failure(error)
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
                for task in tasks { task.end(closing) }
            }
            return value
        } catch {
            registry.fulfil(ticket, with: [])
            throw error
        }
    }

    /// Returns the handle of a task, the same as before if it is followed already.
    func follow(_ document: TaskDocument) -> TransferTask {
        guard let task = registry.known(document.id) else {
            return TransferTask(document, session: self)
        }
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
                    await delegate?.urlSession(self, task: task, didFailWithoutEnding: error)
                }
            }
        }
    }

    /// Ends a task that the service has not accepted.
    func refused(_ task: TransferTask, _ error: TransferError) async {
        registry.remove(task)
        guard task.end(error) else { return }
        await delegate?.urlSession(self, task: task, didCompleteWithError: error)
    }

    /// Ends an upload whose bytes cannot be sent, here and at the service.
    func abandon(_ task: TransferTask, _ error: TransferError) async {
        await refused(task, error)
        do throws(TransferError) {
            try await task.control("cancel")
        } catch {
            await delegate?.urlSession(self, task: task, didFailWithoutEnding: error)
        }
    }
}

extension EventCursor {
    /// Names the place behind the newest event of a session.
    init(_ session: SessionDocument) {
        self.init(sessionID: session.id, sequence: session.lastEventSequence)
    }
}
