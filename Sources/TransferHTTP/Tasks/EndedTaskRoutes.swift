import Hummingbird
import NIOPosix
import TransferContainer
import TransferModel
import TransferStore
import TransferWire

/// The routes for ended tasks: `/v1/tasks/{id}/retry`.
struct EndedTaskRoutes: Sendable {
    let stores: APIStores
    let container: Container
    let wake: @Sendable () -> Void
    /// The threads that wait for the disk.
    let threads: NIOThreadPool

    func add(to router: Router<APIContext>) {
        router.post("/v1/tasks/{id}/retry") { _, context in
            try await retry(context.taskID(), tenant: context.requireTenant())
        }
    }

    func retry(_ id: TaskID, tenant: TenantID) async throws -> Answer {
        let result = try await stores.control.retryTask(
            tenant: tenant,
            id: id,
            hasBody: hasBody(id, tenant: tenant)
        )
        switch result {
        case .answered(let task):
            wake()
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
        let place = Container.Place(ResultLocation.bodyPath(of: id), tenant: tenant)
        do {
            return try await threads.runIfActive { [container] in
                try container.size(of: place) != nil
            }
        } catch let error as StorageError {
            throw Problem(error, in: container)
        }
    }
}
