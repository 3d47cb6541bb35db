import Foundation
import Hummingbird
import TransferModel
import TransferStore
import TransferWire

/// `/v1/sessions/{identifier}/events`.
struct EventRoutes: Sendable {
    let store: TransferStore
    /// Put before links; empty when the service does not know its own address.
    let linkBase: String

    func add(to router: Router<APIContext>) {
        router.get("/v1/sessions/{identifier}/events") { request, context in
            let query = try QueryParameters(request, allowed: ["after", "limit"])
            return try await list(
                query, identifier: context.sessionIdentifier(), tenant: context.requireTenant())
        }
    }

    func list(
        _ query: QueryParameters, identifier: String, tenant: TenantID
    ) async throws -> Answer {
        let after = try query.integer("after") ?? 0
        let events = try await store.events(
            tenant: tenant, sessionIdentifier: identifier, after: after, limit: query.limit())
        guard let events else { throw Problem(.unknownSession) }
        return try .json(
            EventPage(
                items: events.map { EventMessage($0, linkBase: linkBase) },
                next: events.last?.sequence ?? after))
    }
}

extension EventMessage {
    /// An event as clients see it.
    init(_ event: SessionEvent, linkBase: String) {
        let failedTasks = "\(APIPath.tasks(ofSession: event.sessionIdentifier))?state=failed"
        let summary = event.summary.map { summary in
            Summary(
                completed: summary.completed, failed: summary.failed,
                cancelled: summary.cancelled,
                failedTasks: summary.failedTasks.map {
                    FailedTask(
                        id: $0.id.description, clientPersistedString: $0.clientString?.string,
                        code: $0.code.rawValue)
                },
                failedTasksURL: linkBase + failedTasks)
        }
        let task = event.task.map { task in
            Task(
                id: task.id.description, state: task.state.rawValue, attempt: task.attempt,
                clientPersistedString: task.clientString?.string,
                countOfBytesReceived: task.bytesReceived,
                error: task.failure.map(TaskDocument.Failure.init))
        }
        self.init(
            id: event.id.uuidString.lowercased(), type: event.kind.rawValue,
            timestamp: Timestamp(event.occurredAt),
            data: Content(
                sessionIdentifier: event.sessionIdentifier, sequence: event.sequence,
                generation: event.generation, task: task, summary: summary))
    }
}
