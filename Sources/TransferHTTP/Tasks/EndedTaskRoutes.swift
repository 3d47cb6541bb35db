import Hummingbird
import NIOPosix
import TransferContainer
import TransferModel
import TransferStore
import TransferWire

/// The routes for ended tasks: `/v1/tasks/{id}/retry`, `DELETE /v1/tasks/{id}`, and the hook for
/// tests by which a task expires.
struct EndedTaskRoutes: Sendable {
    let stores: APIStores
    let container: Container
    let tell: @Sendable (Set<Signal>) -> Void
    /// The threads that wait for the disk.
    let threads: NIOThreadPool

    func add(to router: APIRouter) {
        router.delete("/v1/tasks/{id}", scope: .control) { _, context in
            try await remove(context.taskID(), tenant: context.requireTenant())
        }
        // A removal leaves exactly what an expiry leaves.
        router.post("/v1/test-hooks/tasks/{id}/expire", scope: .control) { _, context in
            try await remove(context.taskID(), tenant: context.requireTenant())
        }
        router.post("/v1/tasks/{id}/retry", scope: .control) { _, context in
            try await retry(context.taskID(), tenant: context.requireTenant())
        }
    }

    func remove(_ id: TaskID, tenant: TenantID) async throws -> Answer {
        switch try await stores.removals.beginRemoval(tenant: tenant, id: id) {
        case .removable(let remains, let parts):
            let places = remains.paths.map { Container.Place($0, tenant: tenant) }
            try await container.run(on: threads) { [container] in
                // The rows go last: after a crash in between, the request is repeated.
                for place in places + parts.flatMap(\.places) {
                    try container.removePart(at: place)
                }
            }
            guard try await stores.removals.removeTask(remains, parts: parts) else {
                throw Problem(.taskNotEnded, "It was just retried; cancel it first.")
            }
            return Answer(status: .noContent)
        case .notEnded:
            throw Problem(.taskNotEnded, "Cancel it first, with POST \(APIPath.task(id))/cancel.")
        case .inUse:
            throw Problem(
                .taskInUse,
                "A worker still stops it, or another task takes over its bytes; delete it again."
            )
        case .unknownTask: throw Problem(.unknownTask)
        }
    }

    func retry(_ id: TaskID, tenant: TenantID) async throws -> Answer {
        let result = try await stores.retries.retryTask(
            tenant: tenant,
            id: id,
            hasBody: hasBody(id, tenant: tenant)
        )
        switch result {
        case .answered(let task):
            tell(.ofTasks)
            return try .json(TaskDocument(task))
        case .completed:
            throw Problem(
                .taskEnded,
                "The task is completed; only a failed or cancelled task can be retried."
            )
        case .bodyGone:
            throw Problem(
                .bodyGone,
                "The bytes of an upload are removed soon after its end; submit it as a new task."
            )
        case .sessionEnded:
            throw Problem(.sessionEnded, "Submit the task again, to a session that lives.")
        case .sessionFinishing:
            throw Problem(
                .sessionFinishing,
                "It ends with what is outstanding; submit the task again, to another session."
            )
        case .clientForceQuit(let client): throw Problem.forceQuit(client)
        case .queueFull: throw Problem(.queueFull, "Retry the task when some have run.")
        case .unknownTask: throw Problem(.unknownTask)
        }
    }

    /// Returns whether the bytes are still there that a client brought for an upload.
    private func hasBody(_ id: TaskID, tenant: TenantID) async throws -> Bool {
        let place = StagedBody.place(of: id, tenant: tenant)
        return try await container.run(on: threads) { [container] in
            try container.size(of: place) != nil
        }
    }
}
