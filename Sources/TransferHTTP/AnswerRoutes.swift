import Hummingbird
import TransferModel
import TransferStore
import TransferWire

/// What a client answers when a task asks: `/v1/tasks/{id}/begin`.
struct AnswerRoutes: Sendable {
    let store: TransferStore
    let wake: @Sendable () -> Void

    func add(to router: Router<APIContext>) {
        router.post("/v1/tasks/{id}/begin") { request, context in
            let id = try context.taskID()
            let body = try await request.jsonBody()
            return try await begin(id, body, tenant: context.requireTenant())
        }
    }

    func begin(_ id: TaskID, _ body: [UInt8], tenant: TenantID) async throws -> Answer {
        let request = try decoded(BeginRequest.self, from: body)
        let replacement = try request.replacement()
        guard request.disposition != .cancel else {
            return try await cancel(id, ifIn: .waitingToBegin, tenant: tenant)
        }
        return try answer(try await store.beginTask(tenant: tenant, id: id, with: replacement))
    }

    /// Cancels a task that waits for an answer; one that has moved on keeps going.
    private func cancel(
        _ id: TaskID,
        ifIn state: TransferState,
        tenant: TenantID
    ) async throws -> Answer {
        guard let task = try await store.task(tenant: tenant, id: id) else {
            throw Problem(.unknownTask)
        }
        guard task.state == state else { throw Self.notAsked(task) }
        guard let task = try await store.cancelTask(tenant: tenant, id: id) else {
            throw Problem(.unknownTask)
        }
        wake()
        return try .json(TaskDocument(task))
    }

    private func answer(_ result: AnswerResult) throws -> Answer {
        switch result {
        case .answered(let task):
            wake()
            return try .json(TaskDocument(task))
        case .notAsked(let task): throw Self.notAsked(task)
        case .unknownTask: throw Problem(.unknownTask)
        }
    }

    private static func notAsked(_ task: TransferTask) -> Problem {
        Problem(.taskNotAsked, "The task is \(task.state.rawValue).")
    }
}

extension BeginRequest {
    /// The request that the task is to make instead of its own.
    fileprivate func replacement() throws(Problem) -> NewRequest? {
        guard disposition == .useNewRequest else {
            guard request == nil else {
                throw Problem([
                    FieldError(
                        pointer: "/request",
                        .invalidValue,
                        "Is there only with the disposition `use_new_request`."
                    )
                ])
            }
            return nil
        }
        guard let request else {
            throw Problem([FieldError(pointer: "/request", .required, "Is required.")])
        }
        var errors: [FieldError] = []
        let target = request.target.address(at: "/request", into: &errors)
        let headers = HeaderRules.validate(
            request.headers ?? [:],
            at: "/request/headers",
            into: &errors
        )
        guard errors.isEmpty, let target else { throw Problem(errors) }
        return NewRequest(
            url: target.text,
            lane: Lane(host: target.url.host, port: target.url.port),
            headers: headers
        )
    }
}
