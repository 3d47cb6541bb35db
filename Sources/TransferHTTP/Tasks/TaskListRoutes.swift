import Hummingbird
import TransferModel
import TransferStore
import TransferWire

/// The lists of tasks: of a session, and of all living sessions of a tenant.
struct TaskListRoutes: Sendable {
    let stores: APIStores

    func add(to router: APIRouter) {
        router.get(
            "/v1/sessions/{identifier}/tasks",
            scope: .read,
            hasQuery: true
        ) { request, context in
            let query = try QueryParameters(
                request,
                allowed: TaskFilter.parameters.union([QueryParameters.client, "limit", "cursor"])
            )
            let session = try context.session(query)
            return try await RequestResources.listing { try await list(query, of: session) }
        }
        router.get("/v1/tasks", scope: .read, hasQuery: true) { request, context in
            let query = try QueryParameters(
                request,
                allowed: TaskFilter.parameters.union(["limit", "cursor"])
            )
            let tenant = try context.requireTenant()
            return try await RequestResources.listing { try await list(query, of: tenant) }
        }
    }

    func list(_ query: QueryParameters, of session: SessionAddress) async throws -> Answer {
        let limit = try query.limit()
        let filter = try TaskFilter(query)
        var after: TaskID?
        if let cursor = try query.cursor() {
            guard case .task(let id) = cursor else { throw QueryParameters.foreignCursor }
            after = id
        }
        let page = try await stores.taskLists.tasks(
            tenant: session.tenant,
            client: session.client,
            sessionIdentifier: session.identifier,
            filter: filter,
            after: after,
            limit: limit
        )
        guard let page else { throw try await stores.clients.noSession(at: session) }
        return try await answer(
            page.tasks,
            page.unreadable,
            next: page.next.map { .task($0) },
            cursor: { .task($0.id) }
        )
    }

    func list(_ query: QueryParameters, of tenant: TenantID) async throws -> Answer {
        let limit = try query.limit()
        let filter = try TaskFilter(query)
        var after: TenantTaskPage.Place?
        if let cursor = try query.cursor() {
            guard case .tenantTask(let session, let task) = cursor else {
                throw QueryParameters.foreignCursor
            }
            after = TenantTaskPage.Place(session: session, task: task)
        }
        let page = try await stores.taskLists.tasks(
            tenant: tenant,
            filter: filter,
            after: after,
            limit: limit
        )
        return try await answer(
            page.tasks,
            page.unreadable,
            next: page.next.map { .tenantTask($0.session, $0.task) },
            cursor: { .tenantTask($0.session, $0.id) }
        )
    }

    private func answer(
        _ tasks: [TransferTask],
        _ unreadable: [TaskID],
        next: Cursor?,
        cursor: @escaping @Sendable (TransferTask) -> Cursor
    ) async throws -> Answer {
        try await .page(
            tasks,
            next: next,
            byteCount: tasks.reduce(0) { $0 + ($1.clientString?.utf8.count ?? 0) },
            unreadable: unreadable.map(\.description),
            document: { TaskDocument($0) },
            cursor: cursor
        )
    }
}
