import Foundation
import Hummingbird
import TransferModel
import TransferStore
import TransferWire

/// The routes of `/v1/background-tasks/runs`.
struct RunRoutes: Sendable {
    let stores: APIStores
    let tell: @Sendable (Set<Signal>) -> Void

    private typealias Change =
        @Sendable (BackgroundTaskRunID, TenantID, [UInt8]) async throws -> RunChangeResult

    func add(to router: APIRouter) {
        router.get("/v1/background-tasks/runs", scope: .read, hasQuery: true) { request, context in
            let query = try QueryParameters(
                request,
                allowed: [QueryParameters.client, "identifier", "limit", "cursor"]
            )
            let tenant = try context.requireTenant()
            return try await RequestResources.listing { try await list(query, tenant: tenant) }
        }
        router.get("/v1/background-tasks/runs/{id}", scope: .read) { _, context in
            let id = try context.runID()
            guard let run = try await stores.runs.run(id, of: context.requireTenant()) else {
                throw Problem(.unknownRun)
            }
            return try Answer.json(RunDocument(run))
        }
        addChange("accept", to: router) { id, tenant, _ in
            try await stores.runs.acceptRun(id, of: tenant)
        }
        addChange("complete", to: router) { id, tenant, body in
            let request = try await decoded(RunCompletionRequest.self, from: body)
            return try await stores.runs.completeRun(
                id,
                isSuccessful: request.success,
                of: tenant
            )
        }
        addChange("extend", to: router) { id, tenant, body in
            let time = try await decoded(RunExtensionRequest.self, from: body).time()
            return try await stores.runs.extendRun(id, forAtLeast: time, of: tenant)
        }
        addChange("progress", to: router) { id, tenant, body in
            let request = try await decoded(RunProgressRequest.self, from: body)
            return try await stores.runs.reportProgress(
                request.progress(),
                title: request.title,
                subtitle: request.subtitle,
                of: id,
                tenant: tenant
            )
        }
        addChange("transfers", to: router) { id, tenant, body in
            let tasks = try await decoded(RunTransfersRequest.self, from: body).tasks()
            return try await stores.runs.linkTransfers(tasks, to: id, of: tenant)
        }
    }

    /// Adds a route that changes an open run.
    private func addChange(
        _ verb: String,
        to router: APIRouter,
        _ change: @escaping Change
    ) {
        router.post("/v1/background-tasks/runs/{id}/\(verb)", scope: .control) { request, context in
            let id = try context.runID()
            let body = verb == "accept" ? [] : try await request.jsonBody()
            switch try await change(id, context.requireTenant(), body) {
            case .changed(let run):
                tell(.ofClients)
                return try Answer.json(RunDocument(run))
            case .ended(let run):
                throw Problem(.runEnded, run.reason?.sentence)
            case .unknown: throw Problem(.unknownRun)
            }
        }
    }

    func list(_ query: QueryParameters, tenant: TenantID) async throws -> Answer {
        let limit = try query.limit()
        var before: BackgroundTaskRunID?
        if let cursor = try query.cursor() {
            guard case .run(let id) = cursor else { throw QueryParameters.foreignCursor }
            before = id
        }
        let identifier = try query["identifier"].map { name throws(Problem) in
            guard let identifier = BackgroundTaskIdentifier(name) else {
                throw QueryParameters.invalid(
                    "identifier",
                    BackgroundTaskIdentifier.rule,
                    code: .invalidIdentifier
                )
            }
            return identifier
        }
        let client = try query.client() ?? .default
        let runs = try await stores.runs.runs(
            of: client,
            tenant: tenant,
            identifier: identifier,
            before: before,
            limit: limit + 1
        )
        if runs.isEmpty { try await stores.clients.require(client, of: tenant) }
        return try await .page(
            runs,
            limit: limit,
            document: { RunDocument($0) },
            cursor: { .run($0.id) }
        )
    }
}

extension BackgroundTaskRun.EndReason {
    /// Why a run is no longer to be changed.
    fileprivate var sentence: String {
        switch self {
        case .completedByClient: "Its client has completed it."
        case .failedByClient: "Its client has completed it without success."
        case .transfersCompleted: "All transfers linked to it have completed."
        case .transfersFailed:
            "All transfers linked to it have ended, and some of them have not completed."
        case .deadlinePassed: "It was not completed by its deadline."
        case .notAccepted: "Nobody accepted its launch in time."
        case .clientForceQuit: "Its client was force-quit."
        }
    }
}

extension RunExtensionRequest {
    /// Returns the time that a run is to have from now.
    fileprivate func time() throws(Problem) -> Duration {
        var check = RangeCheck(pointer: "")
        let time = check.seconds(seconds, 1...86_400, "seconds")
        guard let time else { throw Problem(check.errors) }
        return time
    }
}

extension RunProgressRequest {
    /// Returns the progress.
    fileprivate func progress() throws(Problem) -> BackgroundTaskRun.Progress {
        var check = RangeCheck(pointer: "")
        _ = check.number(totalUnitCount, 1...Int64.max, "total_unit_count")
        if totalUnitCount > 0 {
            _ = check.number(completedUnitCount, 0...totalUnitCount, "completed_unit_count")
        }
        for (name, words) in [("title", title), ("subtitle", subtitle)] {
            if let words, !RunWords.isValid(words) { check.refuse(name, RunWords.rule) }
        }
        guard check.errors.isEmpty else { throw Problem(check.errors) }
        return BackgroundTaskRun.Progress(
            completedUnitCount: completedUnitCount,
            totalUnitCount: totalUnitCount
        )
    }
}

extension RunTransfersRequest {
    /// Returns the tasks.
    fileprivate func tasks() throws(Problem) -> [TaskID] {
        guard (1...Self.tasksMax).contains(taskIDs.count) else {
            let code: FieldError.Code = taskIDs.isEmpty ? .noItems : .tooManyItems
            throw Problem([
                FieldError(pointer: "/task_ids", code, "Must name 1 to \(Self.tasksMax) tasks.")
            ])
        }
        var errors: [FieldError] = []
        let tasks = taskIDs.enumerated().compactMap { index, text -> TaskID? in
            guard text.utf8.count == 36, let uuid = UUID(uuidString: text) else {
                errors.append(
                    FieldError(
                        pointer: "/task_ids/\(index)",
                        .invalidIdentifier,
                        "Must be the identifier of a task."
                    )
                )
                return nil
            }
            return TaskID(uuid)
        }
        guard errors.isEmpty else { throw Problem(errors) }
        return tasks
    }
}

extension APIContext {
    /// Returns the run that the path names.
    fileprivate func runID() throws(Problem) -> BackgroundTaskRunID {
        guard let text = parameters.get("id"), text.utf8.count == 36,
            let uuid = UUID(uuidString: text)
        else { throw Problem(.unknownRun) }
        return BackgroundTaskRunID(uuid)
    }
}

extension RunDocument {
    init(_ run: BackgroundTaskRun) {
        self.init(
            id: run.id.description,
            identifier: run.identifier.name,
            client: run.client.name,
            kind: run.kind.rawValue,
            state: run.state.rawValue,
            launchedAt: Timestamp(run.launchedAt),
            deadlineAt: Timestamp(run.deadlineAt),
            transfers: run.transfers
        )
        reason = run.reason?.rawValue
        acceptedAt = run.acceptedAt.map(Timestamp.init)
        endedAt = run.endedAt.map(Timestamp.init)
        occurrenceAt = run.occurrenceAt.map(Timestamp.init)
        progress = run.progress.map {
            Progress(
                completedUnitCount: $0.completedUnitCount,
                totalUnitCount: $0.totalUnitCount
            )
        }
        title = run.title
        subtitle = run.subtitle
    }
}
