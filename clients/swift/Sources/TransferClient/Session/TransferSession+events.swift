import TransferWire

extension TransferSession {
    /// The pause before events are read again after some were removed unread.
    private static let expiryPause: Duration = .seconds(1)

    /// Reads the events of the session until it ends, and tells its tasks and its delegate.
    func pumpEvents(of session: SessionDocument) async {
        var cursor = EventCursor(session)
        while true {
            do throws(TransferError) {
                for try await event in events(after: cursor) { await tell(event) }
                await becomeInvalid(nil)
                return
            } catch {
                if error.code == .cancelled { return }
                guard error.problem?.code == .eventsExpired,
                    let oldest = error.problem?.oldestSequence
                else {
                    await becomeInvalid(error)
                    return
                }
                cursor = EventCursor(sessionID: session.id, sequence: max(oldest, 1) - 1)
            }
            do throws(TransferError) {
                try await TransferService.pause(Self.expiryPause)
            } catch {
                return
            }
            await refreshTasks()
        }
    }

    /// Reads all tasks that are followed, some of whose events are gone.
    private func refreshTasks() async {
        for task in registry.all {
            do throws(TransferError) {
                try await task.refresh()
                if task.state == .completed { await end(task) }
            } catch {
                await refused(task, error)
            }
        }
    }

    private func end(_ task: TransferTask) async {
        registry.remove(task)
        await tellEnd(of: task)
    }

    private func becomeInvalid(_ error: TransferError?) async {
        shut(error ?? TransferError(.sessionClosed, "The session has ended."))
        leases.abandon()
        await delegate?.urlSession(self, didBecomeInvalidWithError: error)
    }

    private func tell(_ event: TransferEvent) async {
        switch event.kind {
        case .task(let change, let snapshot):
            guard let task = await registry.task(snapshot.id) else { return }
            await tell(change, of: task, snapshot)
        case .eventsFinished:
            await delegate?.urlSessionDidFinishEvents(forBackgroundURLSession: self)
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
        case .progress: await tellProgress(of: task, received: received, sent: sent)
        case .resumedAtOffset:
            await delegate?.urlSession(
                self,
                downloadTask: task,
                didResumeAtOffset: snapshot.countOfBytesReceived,
                expectedTotalBytes: task.countOfBytesExpectedToReceive
            )
        case .waiting:
            await delegate?.urlSession(self, taskIsWaitingForConnectivity: task)
        case .willBegin:
            if let answer = await delegate?.urlSession(self, willBeginDelayedRequest: task) {
                await send(answer, to: "begin", of: task)
            }
        case .authenticationRequired:
            let challenges = snapshot.error?.challenges ?? []
            if let answer = await delegate?.urlSession(self, task: task, didReceive: challenges) {
                await send(answer, to: "credential", of: task)
            }
        case .downloadFinished:
            let result = TransferResult(task: task, id: snapshot.id, response: snapshot.response)
            await delegate?.urlSession(self, downloadTask: task, didFinishDownloading: result)
        case .completed, .failed, .cancelled:
            registry.remove(task)
            let error = change == .completed ? nil : task.error
            await delegate?.urlSession(self, task: task, didCompleteWithError: error)
        case .created, .retried, .resumed, .suspended: return
        }
    }

    private func tellProgress(of task: TransferTask, received: Int64, sent: Int64) async {
        if task.countOfBytesReceived > received, task.kind == .download {
            await delegate?.urlSession(
                self,
                downloadTask: task,
                didWriteData: task.countOfBytesReceived - received,
                totalBytesWritten: task.countOfBytesReceived,
                totalBytesExpectedToWrite: task.countOfBytesExpectedToReceive
            )
        }
        if task.countOfBytesSent > sent {
            await delegate?.urlSession(
                self,
                task: task,
                didSendBodyData: task.countOfBytesSent - sent,
                totalBytesSent: task.countOfBytesSent,
                totalBytesExpectedToSend: task.countOfBytesExpectedToSend
            )
        }
    }

    private func send(_ answer: some Encodable, to verb: String, of task: TransferTask) async {
        do throws(TransferError) {
            let request = try ServiceRequest("POST", "\(task.path())/\(verb)", json: answer)
            _ = try await service.call(request)
        } catch  where error.problem?.code == .taskNotAsked {
            // Somebody else has answered.
            return
        } catch {
            await delegate?.urlSession(self, task: task, didFailWithoutEnding: error)
        }
    }
}
