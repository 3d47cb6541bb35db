import Foundation
package import TransferModel
package import TransferWire

extension EventMessage {
    /// Creates an event as clients see it: the body of a webhook and the item of a page are the
    /// same.
    ///
    /// - Parameters:
    ///   - event: what happened.
    ///   - linkBase: the service's public URL without a slash at the end; nil for links that are
    ///     relative to it.
    ///   - closing: what `session.events_finished` says to one subscription; nil in pages.
    package init(_ event: SessionEvent, linkBase: String?, closing: Closing? = nil) {
        var data = Content(
            client: event.client?.name,
            sessionIdentifier: event.sessionIdentifier,
            sessionID: event.sessionIdentifier == nil ? nil : event.session.uuid.text,
            sequence: event.sequence,
            generation: event.generation
        )
        switch event.payload {
        case .task(let task): data.task = Task(task, linkBase: linkBase)
        case .generation(let summary):
            let path = APIPath.failedTasks(
                ofSession: event.sessionIdentifier ?? "",
                of: event.client?.nameInLinks
            )
            data.add(summary, failedTasksURL: "\(linkBase ?? "")\(path)", closing)
        case .pending(let pending):
            data.waitingToBegin = pending.waitingToBegin
            data.waitingForAuthentication = pending.waitingForAuthentication
            data.pendingTaskIDs = pending.tasks.map(\.description)
        case .nothing: break
        case .client(let event): data.add(event)
        case .clientRemoved(let client):
            data.removedClient = RemovedClient(client: client.id.name, kind: client.kind.rawValue)
        case .subscriptionDisabled(let subscription):
            data.subscription = DisabledSubscription(subscription)
        case .eventsExpired(let events): data.expiredEvents = ExpiredEvents(events)
        }
        self.init(
            id: event.id.text,
            type: event.kind.rawValue,
            timestamp: Timestamp(event.occurredAt),
            data: data
        )
    }
}

extension EventMessage.Content {
    fileprivate mutating func add(
        _ summary: SessionEvent.GenerationSummary,
        failedTasksURL: String,
        _ closing: EventMessage.Closing?
    ) {
        completed = summary.completed
        failed = summary.failed
        cancelled = summary.cancelled
        failedTasks = summary.failedTasks.map { task in
            EventMessage.FailedTask(
                id: task.id.description,
                clientPersistedString: task.clientString?.string,
                isClientPersistedStringOmitted: task.isClientStringOmitted ? true : nil,
                code: task.code.rawValue
            )
        }
        self.failedTasksURL = failedTasksURL
        guard let closing else { return }
        deadLetters = closing.deadLetters == 0 ? nil : closing.deadLetters
        ackToken = closing.ackToken
    }

    fileprivate mutating func add(_ event: ClientEvent) {
        switch event {
        case .lifecycle(let change):
            lifecycle = ClientEventDocument.Lifecycle(
                from: change.from.rawValue,
                to: change.to.rawValue,
                reason: change.reason.rawValue
            )
        case .assertion(let notice):
            assertion = ClientEventDocument.Assertion(
                id: notice.id.description,
                name: notice.name,
                expiresAt: Timestamp(notice.expiresAt)
            )
        case .run(let notice):
            backgroundTask = ClientEventDocument.Run(
                runID: notice.id.description,
                identifier: notice.identifier.name,
                kind: notice.kind.rawValue,
                deadline: Timestamp(notice.deadline),
                reason: notice.reason?.rawValue
            )
        }
    }
}

extension EventMessage.Task {
    init(_ task: SessionEvent.TaskSnapshot, linkBase: String?) {
        self.init(
            id: task.id.description,
            state: task.state.rawValue,
            attempt: task.attempt,
            clientPersistedString: task.clientString?.string,
            countOfBytesReceived: task.bytesReceived,
            error: task.failure.map(TaskDocument.Failure.init)
        )
        kind = task.request?.kind.rawValue
        url = task.request?.url
        destination = task.request?.destination.map {
            TaskDocument.Destination(path: $0.path, overwrite: $0.overwrite)
        }
        if let result = task.result {
            content = "\(linkBase ?? "")\(APIPath.content(of: task.id))"
            response = TaskDocument.Response(result, isInEvent: true)
        }
        guard let progress = task.progress else { return }
        countOfBytesExpectedToReceive = progress.bytesExpected ?? -1
        countOfBytesSent = progress.bytesSent
        countOfBytesExpectedToSend = progress.bytesToSend ?? -1
    }
}

extension EventMessage.DisabledSubscription {
    init(_ subscription: SessionEvent.DisabledSubscription) {
        self.init(
            id: subscription.id.description,
            reason: subscription.reason.rawValue,
            failingSince: Timestamp(subscription.failingSince)
        )
    }
}

extension EventMessage.ExpiredEvents {
    init(_ events: SessionEvent.ExpiredEvents) {
        self.init(
            subscriptionID: events.subscription.description,
            sessionID: events.session.uuid.text,
            client: events.client.name,
            sessionIdentifier: events.sessionIdentifier,
            firstSequence: events.sequences.lowerBound,
            lastSequence: events.sequences.upperBound
        )
    }
}
