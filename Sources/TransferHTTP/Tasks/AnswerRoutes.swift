import Hummingbird
import TransferModel
import TransferStore
import TransferWire

/// The routes for a client's answers to the questions of a task: `/v1/tasks/{id}/begin` and
/// `…/credential`.
struct AnswerRoutes: Sendable {
    let stores: APIStores
    let tell: @Sendable (Set<Signal>) -> Void

    func add(to router: APIRouter) {
        router.post("/v1/tasks/{id}/begin", scope: .control) { request, context in
            let id = try context.taskID()
            let body = try await request.jsonBody()
            return try await begin(id, body, by: context.requireCaller())
        }
        router.post("/v1/tasks/{id}/credential", scope: .control) { request, context in
            let id = try context.taskID()
            let body = try await request.jsonBody()
            return try await authenticate(id, body, tenant: context.requireTenant())
        }
    }

    func begin(_ id: TaskID, _ body: [UInt8], by caller: Caller) async throws -> Answer {
        let request = try await decoded(BeginRequest.self, from: body)
        var replacement = try request.replacement()
        let tenant = caller.tenant
        guard request.disposition != .cancel else {
            return try await answer(
                stores.questions.cancelTask(
                    tenant: tenant,
                    id: id,
                    ifAskingIn: .waitingToBegin
                )
            )
        }
        if let named = replacement {
            try caller.require(RouteScopes.namingOrigins)
            try await checkSource(of: id, by: caller)
            replacement = try await typed(named, of: id, tenant: tenant)
        }
        return try await answer(
            stores.questions.beginTask(tenant: tenant, id: id, with: replacement)
        )
    }

    /// Throws ``Problem`` if a task sends bytes that `caller` may not read: it has named the origin
    /// that would get them.
    private func checkSource(of id: TaskID, by caller: Caller) async throws {
        guard !caller.scopes.contains(RouteScopes.sendingFiles),
            try await stores.tasks.task(tenant: caller.tenant, id: id) != nil,
            try await stores.tasks.request(of: id)?.upload != nil
        else { return }
        try caller.require(RouteScopes.sendingFiles)
    }

    /// Returns the request with the type of the bytes that came with the task, which stay, unless
    /// it names another.
    ///
    /// - Throws: ``Problem`` if it does so for a form whose type has the boundary of its parts.
    private func typed(
        _ request: NewRequest,
        of id: TaskID,
        tenant: TenantID
    ) async throws -> NewRequest {
        guard try await stores.tasks.task(tenant: tenant, id: id) != nil,
            let type = try await stores.tasks.request(of: id)?.contentType
        else { return request }
        guard let own = request.headers.first(where: { $0.name.lowercased() == "content-type" })
        else {
            return NewRequest(
                url: request.url,
                hostKey: request.hostKey,
                headers: request.headers + [HTTPHeader(name: "Content-Type", value: type)]
            )
        }
        guard type.hasPrefix("multipart/form-data; boundary="), own.value != type else {
            return request
        }
        throw Problem([
            FieldError(
                pointer: "/request/headers/\(own.name)",
                .invalidValue,
                "Must not go with a form, whose type names the boundary."
            )
        ])
    }

    func authenticate(_ id: TaskID, _ body: [UInt8], tenant: TenantID) async throws -> Answer {
        let request = try await decoded(ChallengeRequest.self, from: body)
        if request.disposition != .use, request.credential != nil {
            throw Problem([
                FieldError(
                    pointer: "/credential",
                    .invalidValue,
                    "Is there only with the disposition `use`."
                )
            ])
        }
        switch request.disposition {
        case .use:
            let credential = try await credential(chosenAs: request.credential, tenant: tenant)
            return try await answer(
                stores.questions.answerChallenge(tenant: tenant, id: id, with: credential)
            )
        case .default, .reject:
            return try await answer(stores.questions.refuseChallenge(tenant: tenant, id: id))
        case .cancel:
            return try await answer(
                stores.questions.cancelTask(
                    tenant: tenant,
                    id: id,
                    ifAskingIn: .waitingForAuthentication
                )
            )
        }
    }

    private func credential(
        chosenAs choice: ChallengeRequest.Choice?,
        tenant: TenantID
    ) async throws -> CredentialAnswer {
        switch choice {
        case .named(let name):
            guard Credential.isName(name),
                let credential = try await stores.credentials.credential(tenant: tenant, name: name)
            else {
                throw Problem([
                    FieldError(
                        pointer: "/credential",
                        .invalidValue,
                        "There is no credential of that name."
                    )
                ])
            }
            return .named(credential.id)
        case .given(let request):
            var errors: [FieldError] = []
            if request.origins != nil {
                errors.append(
                    FieldError(
                        pointer: "/credential/origins",
                        .invalidValue,
                        "Is the one that has asked."
                    )
                )
            }
            let credential = request.credential(at: "/credential", into: &errors)
            guard errors.isEmpty, let credential else { throw Problem(errors) }
            try stores.credentials.requireKey()
            return .given(credential.form, credential.secrets)
        case nil:
            throw Problem([FieldError(pointer: "/credential", .required, "Is required.")])
        }
    }

    private func answer(_ result: AnswerResult) throws -> Answer {
        switch result {
        case .answered(let task):
            tell(.ofTasks)
            return try .json(TaskDocument(task))
        case .notAsked(let task):
            throw Problem(.taskNotAsked, "The task is \(task.state.rawValue).")
        case .unknownTask: throw Problem(.unknownTask)
        }
    }
}

extension BeginRequest {
    /// Returns the request that the task is to make instead of its own.
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
            hostKey: HostKey(host: target.url.host, port: target.url.port),
            headers: headers
        )
    }
}
