import Hummingbird
import TransferModel
import TransferStore
import TransferWire

/// The routes of `/v1/test-hooks`, which only tenants have that were made for tests: those for what
/// is to come; ``EndedTaskRoutes`` has the one for ended tasks.
struct TestHookRoutes: Sendable {
    /// The beginning of their paths.
    static let path = "/v1/test-hooks/"

    let stores: APIStores

    func add(to router: APIRouter) {
        router.post("/v1/test-hooks/tasks/{id}/end-wait", scope: .control) { _, context in
            try await endWait(of: context.taskID(), tenant: context.requireTenant())
        }
        router.post(
            "/v1/test-hooks/tasks/{id}/fail-next-attempt",
            scope: .control
        ) { request, context in
            let id = try context.taskID()
            let body = try await request.jsonBody()
            return try await failNextAttempt(of: id, body, tenant: context.requireTenant())
        }
    }

    func endWait(of id: TaskID, tenant: TenantID) async throws -> Answer {
        try await stores.testHooks.endWait(of: id, tenant: tenant)
        return try await answer(with: id, tenant: tenant)
    }

    func failNextAttempt(
        of id: TaskID,
        _ body: [UInt8],
        tenant: TenantID
    ) async throws -> Answer {
        let failure = try await decoded(TestFailureRequest.self, from: body).failure()
        let result = try await stores.testHooks.failNextAttempt(
            of: id,
            tenant: tenant,
            with: failure
        )
        switch result {
        case .recorded: return try await answer(with: id, tenant: tenant)
        case .completed: throw Problem(.taskEnded, "A completed task has no further attempt.")
        case .unknownTask: throw Problem(.unknownTask)
        }
    }

    private func answer(with id: TaskID, tenant: TenantID) async throws -> Answer {
        guard let task = try await stores.tasks.task(tenant: tenant, id: id) else {
            throw Problem(.unknownTask)
        }
        return try .json(TaskDocument(task))
    }
}

extension TestFailureRequest {
    /// Returns the failure that this request wants.
    fileprivate func failure() throws(Problem) -> TestFailure {
        guard let code = TransferFailure.Code(word: code),
            let failure = TestFailure(code: code, httpStatus: httpStatus)
        else {
            throw Problem([
                FieldError(
                    pointer: "/code",
                    .invalidValue,
                    """
                    Must be a failure of the domain `network` or `http`; with `http_status` from 400 \
                    to 599 if it is that code, and without otherwise.
                    """
                )
            ])
        }
        return failure
    }
}
