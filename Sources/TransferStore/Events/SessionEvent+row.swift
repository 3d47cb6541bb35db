import Foundation
import Postgres
import TransferModel

extension SessionEvent: RowDecodable {
    init(_ row: StoredRow) throws(StoreError) {
        let kind: Kind = try row.word("kind")
        self.init(
            id: try row.decode("id"),
            session: try row.session("session_id"),
            client: try row.clientIfPresent("client"),
            sessionIdentifier: try row.decodeIfPresent("identifier"),
            sequence: try row.decode("sequence"),
            kind: kind,
            generation: try row.decode("generation"),
            occurredAt: try row.decode("occurred_at"),
            payload: try Payload(row, of: kind)
        )
    }
}

extension SessionEvent.Payload {
    fileprivate init(_ row: StoredRow, of kind: SessionEvent.Kind) throws(StoreError) {
        switch kind {
        case .taskCreated, .taskRetried, .taskResumed, .taskSuspended, .taskResumedAtOffset,
            .taskProgress, .taskWaiting, .taskWillBegin, .taskAuthenticationRequired,
            .taskDownloadFinished, .taskCompleted, .taskFailed, .taskCancelled:
            self = .task(try SessionEvent.TaskSnapshot(row))
        case .sessionEventsFinished: self = .generation(try SessionEvent.GenerationSummary(row))
        case .sessionEventsPending: self = .pending(try SessionEvent.PendingTasks(row))
        case .sessionInvalidated: self = .nothing
        case .clientLifecycleChanged:
            self = .client(.lifecycle(try LifecycleChange(row)))
        case .assertionExpiring, .assertionExpired:
            self = .client(.assertion(try ClientEvent.AssertionNotice(row)))
        case .backgroundTaskLaunch, .backgroundTaskExpiring, .backgroundTaskExpired:
            self = .client(.run(try ClientEvent.RunNotice(row)))
        case .clientRemoved: self = .clientRemoved(try SessionEvent.RemovedClient(row))
        case .subscriptionDisabled:
            self = .subscriptionDisabled(try SessionEvent.DisabledSubscription(row))
        case .subscriptionEventsExpired:
            self = .eventsExpired(try SessionEvent.ExpiredEvents(row))
        }
    }
}

extension SessionEvent.TaskSnapshot {
    fileprivate init(_ row: StoredRow) throws(StoreError) {
        let bytesReceived = try row.decode("bytes_received", as: Int64.self)
        self.init(
            id: try row.task("task_id"),
            state: try row.word("task_state"),
            attempt: Int(try row.decode("attempt", as: Int16.self)),
            clientString: try row.clientString("client_string"),
            bytesReceived: bytesReceived,
            failure: try row.failure("failure"),
            progress: try SessionEvent.Progress(row),
            request: try SessionEvent.TaskRequestSnapshot(row),
            result: try row.result(bytesReceived: bytesReceived)
        )
    }
}

extension SessionEvent.TaskRequestSnapshot {
    /// Nil in the row of an event whose task is kept no longer.
    fileprivate init?(_ row: StoredRow) throws(StoreError) {
        guard try row.decodeIfPresent("task_kind", as: String.self) != nil else { return nil }
        self.init(
            kind: try row.word("task_kind"),
            url: try row.decodeIfPresent("url"),
            destination: try row.destination()
        )
    }
}

extension SessionEvent.Progress {
    /// Creates the progress of an event; nil if the event reports none.
    fileprivate init?(_ row: StoredRow) throws(StoreError) {
        guard let bytesSent = try row.decodeIfPresent("bytes_sent", as: Int64.self) else {
            return nil
        }
        self.init(
            bytesExpected: try row.decodeIfPresent("bytes_expected"),
            bytesSent: bytesSent,
            bytesToSend: try row.decodeIfPresent("bytes_to_send")
        )
    }
}
