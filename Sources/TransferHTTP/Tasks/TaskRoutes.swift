import Foundation
import HTTPTypes
import Hummingbird
import TransferContainer
import TransferModel
import TransferStore
import TransferWire

/// The submission of tasks, and the routes of `/v1/tasks/{id}` for tasks in any state.
struct TaskRoutes: Sendable {
    let stores: APIStores
    let poll: SharedPoll<TaskID, TransferState>
    let keys: KeyWatch
    /// The slots of requests that wait for a task.
    let slots: ReaderSlots
    /// The most connections to a host of which nothing else is known.
    let connectionsPerHost: Int
    let container: Container
    let tell: @Sendable (Set<Signal>, Set<HostKey>) -> Void

    private var submitter: Submitter {
        Submitter(stores: stores, container: container, tell: tell)
    }

    func add(to router: APIRouter) {
        router.post(
            "/v1/sessions/{identifier}/tasks",
            scope: .submit,
            hasQuery: true
        ) { request, context -> Response in
            let session = try context.session(request)
            let caller = try context.requireCaller()
            let lease = try SubmissionLease(request.headers)
            if request.hasMediaType(TaskStream.mediaType) {
                guard lease == nil else {
                    throw QueryParameters.invalid("Lease-Token", "Not with NDJSON lines.")
                }
                let key = keys.hold(caller)
                return try await TaskStream(request, to: session, by: submitter, key, context)
                    .response()
            }
            var body = try await request.jsonBody(or: TaskStream.mediaType)
            let answer = try await RequestResources.submitting(body.count) {
                try await submit(&body, of: request, under: lease, to: session, by: caller)
            }
            return try answer.response(from: request, context: context)
        }
        router.get("/v1/tasks/{id}", scope: .read, hasQuery: true) { request, context in
            let query = try QueryParameters(request, allowed: ["until"])
            return try await get(
                context.taskID(),
                waiting: WaitPreference(request.headers),
                untilEnded: query.isUntilEnded(),
                for: context.requireCaller()
            )
        }
        router.patch("/v1/tasks/{id}", scope: .control) { request, context in
            let id = try context.taskID()
            let body = try await request.jsonBody()
            return try await change(
                id,
                body,
                if: RevisionCondition(request.headers),
                tenant: context.requireTenant()
            )
        }
        router.post("/v1/tasks/{id}/cancel", scope: .control) { request, context in
            let id = try context.taskID()
            let body = try await request.jsonBody()
            return try await cancel(id, body, tenant: context.requireTenant())
        }
        router.post("/v1/tasks/{id}/suspend", scope: .control) { _, context in
            try await suspend(context.taskID(), tenant: context.requireTenant())
        }
        router.get("/v1/tasks/{id}/attempts", scope: .read) { _, context in
            try await attempts(context.taskID(), tenant: context.requireTenant())
        }
        router.get("/v1/tasks/{id}/metrics", scope: .read) { _, context in
            try await metrics(context.taskID(), tenant: context.requireTenant())
        }
        router.post("/v1/tasks/{id}/resume", scope: .control) { _, context in
            try await resume(context.taskID(), tenant: context.requireTenant())
        }
    }

    /// Submits the tasks of a body, which is emptied once they are read.
    private func submit(
        _ body: inout [UInt8],
        of request: Request,
        under lease: SubmissionLease?,
        to session: SessionAddress,
        by caller: Caller
    ) async throws -> Answer {
        let key = try await IdempotencyKey(request, body: body)
        if let key,
            let answer = try await stores.idempotency.earlierAnswer(key, tenant: session.tenant)
        {
            return answer
        }
        let (isBatch, submissions, answer) = try await RequestResources.decoding(body.count) {
            [body] in
            let (isBatch, submissions) = try SubmissionMaker.submissions(in: body)
            let answer = try Self.receipt(
                of: submissions,
                isBatch: isBatch,
                isKept: key != nil,
                session
            )
            return (isBatch, submissions, answer)
        }
        // To store its tasks takes several times its memory.
        body = []
        return try await submitter.submit(
            submissions,
            answer: answer,
            key: key,
            lease: lease,
            to: session,
            by: caller
        ) { faults in
            Problem(faults.map { isBatch ? $0.fault.moved(to: "/\($0.index)") : $0.fault })
        }
    }

    func get(
        _ id: TaskID,
        waiting preference: WaitPreference?,
        untilEnded: Bool,
        for caller: Caller
    ) async throws -> Answer {
        let tenant = caller.tenant
        let task = try await stores.tasks.task(tenant: tenant, id: id)
        guard let task, let preference else { return try await document(of: task, id, tenant) }
        if !task.state.isTerminal {
            // A request without a slot is answered without waiting, and is not told that it waited.
            guard let slot = try? slots.take(for: tenant) else {
                return try await document(of: task, id, tenant)
            }
            defer { withExtendedLifetime(slot) {} }
            let key = keys.hold(caller)
            let known = task.state
            let limit = key.wait(upTo: .seconds(preference.seconds))
            _ = await poll.news(of: id, within: limit) { state in
                key.isOver || (untilEnded ? state?.isTerminal ?? true : state != known)
            }
            try key.check()
        }
        let changed = try await stores.tasks.task(tenant: tenant, id: id)
        var answer = try await document(of: changed, id, tenant)
        answer.preferenceApplied = preference.applied
        return answer
    }

    /// Returns a task with its response body, which pages and events leave out to stay small.
    private func document(
        of task: TransferTask?,
        _ id: TaskID,
        _ tenant: TenantID
    ) async throws -> Answer {
        guard let task else { throw try await stores.tasks.noTask(id, tenant: tenant) }
        var document = TaskDocument(task)
        if task.state == .queued, let wait = try await stores.tasks.queueWait(of: id) {
            document.reason = wait.reason(connectionsDefault: connectionsPerHost)
            document.waitsFor = wait.cause(connectionsDefault: connectionsPerHost).rawValue
        }
        if let record = try await stores.tasks.request(of: id) { document.add(record) }
        if task.kind == .data, task.state == .completed {
            let body = try await stores.tasks.responseBody(tenant: tenant, task: task.id) ?? []
            document.response?.body = Data(body).base64EncodedString()
        }
        return try .json(document, revision: task.revision)
    }

    func change(
        _ id: TaskID,
        _ body: [UInt8],
        if condition: RevisionCondition,
        tenant: TenantID
    ) async throws -> Answer {
        let change = try await decoded(TaskPatchRequest.self, from: body).change()
        let result = try await stores.control.changeTask(
            tenant: tenant,
            id: id,
            change,
            if: condition
        )
        switch result {
        case .changed(let task):
            tell(.ofTasks, [])
            return try .json(TaskDocument(task), revision: task.revision)
        case .conditionFailed: throw Problem(.preconditionFailed)
        case .ended(let task):
            throw Problem(.taskEnded, "The task is \(task.state.rawValue).")
        case .unknownTask: throw Problem(.unknownTask)
        }
    }

    func cancel(_ id: TaskID, _ body: [UInt8], tenant: TenantID) async throws -> Answer {
        let isProducing =
            try await body.isEmpty
            ? false : decoded(CancelRequest.self, from: body).produceResumeData ?? false
        let resumeData = isProducing ? ResumeDataID(UUID()) : nil
        let task = try await stores.control.cancelTask(
            tenant: tenant,
            id: id,
            producing: resumeData
        )
        guard let task else { throw Problem(.unknownTask) }
        tell(.ofTasks, [])
        var document = TaskDocument(task)
        if let resumeData, try await stores.control.hasResumeData(resumeData) {
            document.resumeData = resumeData.description
        }
        return try .json(document)
    }

    func suspend(_ id: TaskID, tenant: TenantID) async throws -> Answer {
        switch try await stores.control.suspendTask(tenant: tenant, id: id) {
        case .answered(let task):
            tell(.ofTasks, [])
            return try .json(TaskDocument(task))
        case .inFlight:
            throw Problem(
                .requestInFlight,
                "The origin may have the request already; the task can be cancelled."
            )
        case .unknownTask: throw Problem(.unknownTask)
        }
    }

    func attempts(_ id: TaskID, tenant: TenantID) async throws -> Answer {
        guard let attempts = try await stores.tasks.attempts(tenant: tenant, task: id) else {
            throw try await stores.tasks.noTask(id, tenant: tenant)
        }
        return try .json(AttemptList(items: attempts.map(AttemptDocument.init)))
    }

    func metrics(_ id: TaskID, tenant: TenantID) async throws -> Answer {
        guard let metrics = try await stores.tasks.metrics(tenant: tenant, task: id) else {
            throw try await stores.tasks.noTask(id, tenant: tenant)
        }
        return try .json(TaskMetricsDocument(metrics))
    }

    func resume(_ id: TaskID, tenant: TenantID) async throws -> Answer {
        guard let task = try await stores.control.resumeTask(tenant: tenant, id: id) else {
            throw Problem(.unknownTask)
        }
        tell(.ofTasks, [])
        return try .json(TaskDocument(task))
    }

    /// Returns the answer to a submission, made before it is stored so that a repetition gets the
    /// same.
    private static func receipt(
        of submissions: [TaskSubmission],
        isBatch: Bool,
        isKept: Bool,
        _ session: SessionAddress
    ) throws -> Answer {
        let location =
            if !isBatch, let task = submissions.first {
                APIPath.task(task.id)
            } else {
                APIPath.tasks(ofSession: session.identifier, of: session.client.nameInLinks)
            }
        return try Answer(
            SubmissionReceipts(of: submissions, as: isBatch ? .batch : .single, in: session),
            location: location,
            isKept: isKept
        )
    }
}

extension QueryParameters {
    /// Returns whether the request waits for the end of its task, and not for any change.
    fileprivate func isUntilEnded() throws(Problem) -> Bool {
        switch self["until"] {
        case nil: return false
        case "ended": return true
        default: throw Self.invalid("until", "Must be `ended`.")
        }
    }
}

extension TaskStore {
    /// Returns the problem of a request whose task does not exist: that it expired, while that is
    /// known.
    func noTask(_ id: TaskID, tenant: TenantID) async throws -> Problem {
        try await isExpired(tenant: tenant, id: id)
            ? Problem(
                .taskExpired,
                "It was deleted, or ended longer ago than its session's `result_retention`."
            )
            : Problem(.unknownTask)
    }
}
