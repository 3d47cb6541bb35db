import Foundation
import Hummingbird
import TransferModel
import TransferStore
import TransferWire

/// The routes of `/v1/background-tasks/requests`.
struct BackgroundTaskRequestRoutes: Sendable {
    let stores: APIStores
    /// Whether the network can be reached; nil if this instance does not know.
    let hasNetwork: @Sendable () -> Bool?
    let tell: @Sendable (Set<Signal>) -> Void

    /// The number of drafts of an answer, each made again when the handler has changed meanwhile.
    private static let draftsMax = 5

    func add(to router: APIRouter) {
        router.post("/v1/background-tasks/requests", scope: .submit) { request, context in
            let body = try await request.jsonBody()
            return try await submit(
                body,
                key: IdempotencyKey(request, body: body),
                tenant: context.requireTenant()
            )
        }
        router.get(
            "/v1/background-tasks/requests",
            scope: .read,
            hasQuery: true
        ) { request, context in
            let query = try QueryParameters(request, allowed: [QueryParameters.client])
            return try await list(of: query.client() ?? .default, context.requireTenant())
        }
        router.delete(
            "/v1/background-tasks/requests",
            scope: .control,
            hasQuery: true
        ) { request, context in
            let query = try QueryParameters(request, allowed: [QueryParameters.client])
            return try await cancel(
                nil,
                of: query.client() ?? .default,
                context.requireTenant()
            )
        }
        router.get(
            "/v1/background-tasks/requests/{identifier}",
            scope: .read,
            hasQuery: true
        ) { request, context in
            try await get(context.backgroundTask(request))
        }
        router.delete(
            "/v1/background-tasks/requests/{identifier}",
            scope: .control,
            hasQuery: true
        ) { request, context in
            let address = try context.backgroundTask(request)
            return try await cancel(address.identifier, of: address.client, address.tenant)
        }
    }

    func submit(_ body: [UInt8], key: IdempotencyKey?, tenant: TenantID) async throws -> Answer {
        if let key, let answer = try await stores.idempotency.earlierAnswer(key, tenant: tenant) {
            return answer
        }
        let submission = try await decoded(BackgroundTaskSubmission.self, from: body)
        let (request, client) = try submission.request()
        let occurrence = try await firstOccurrence(of: request)
        let id = BackgroundTaskRequestID(.version7())
        for _ in 0..<Self.draftsMax {
            let kept = try await answerToKeep(
                under: key,
                to: request,
                id,
                occurrence,
                of: client,
                tenant
            )
            let result = try await stores.requests.submitRequest(
                request,
                id,
                occurrence: occurrence,
                of: client,
                tenant: tenant,
                immediate: immediate(request, id, of: client, tenant),
                answer: kept.map { (draft: $0.draft, record: $0.record) }
            )
            if let answer = try answer(with: result, of: client, kept?.answer) { return answer }
        }
        throw Problem.taskInFlux
    }

    /// Returns the answer that is kept under a key, with what stores it; nil without a key.
    private func answerToKeep(
        under key: IdempotencyKey?,
        to request: BackgroundTaskRequest,
        _ id: BackgroundTaskRequestID,
        _ occurrence: Date?,
        of client: ClientID,
        _ tenant: TenantID
    ) async throws -> (answer: Answer, draft: RequestDraft, record: IdempotencyRecord)? {
        guard let key else { return nil }
        let draft = try await stores.requests.draft(
            request,
            id,
            occurrence: occurrence,
            of: client,
            tenant: tenant
        )
        guard let draft else {
            try await stores.clients.require(client, of: tenant)
            throw Problem.taskNotPermitted
        }
        let answer = try created(draft.request)
        return (answer, draft, key.record(of: answer))
    }

    private func created(_ pending: PendingRequest) throws -> Answer {
        try .json(
            BackgroundTaskRequestDocument(pending),
            status: .created,
            location: APIPath.taskRequest(
                pending.request.identifier,
                of: pending.client.nameInLinks
            )
        )
    }

    /// Returns the answer to a submission with that result, which is the kept one if there is one;
    /// nil when another draft is needed.
    private func answer(
        with result: SubmitRequestResult,
        of client: ClientID,
        _ kept: Answer?
    ) throws -> Answer? {
        switch result {
        case .submitted(let pending):
            tell(.ofClients)
            return try kept ?? created(pending)
        case .replay(let response): return try Answer(replaying: response)
        case .idempotencyMismatch: throw Problem(.idempotencyKeyReused)
        case .outdated: return nil
        case .notPermitted: throw Problem.taskNotPermitted
        case .unavailable: throw Problem.backgroundTasksOff
        case .clientForceQuit: throw Problem.forceQuit(client)
        case .unknownClient: throw Problem.unknownClient
        case .tooManyPending(let kind):
            throw Problem(
                .tooManyPendingTaskRequests,
                "A client has at most \(kind.pendingMax) pending of the kind `\(kind.rawValue)`."
            )
        case .unfit(let kind): throw Problem(unfitFor: kind)
        case .ineligible(let reason): throw Problem(ineligible: reason)
        }
    }

    /// Returns the first time of a request that recurs; nil for any other.
    private func firstOccurrence(of request: BackgroundTaskRequest) async throws -> Date? {
        guard let recurrence = request.recurrence else { return nil }
        let now = try await stores.database.currentTime()
        guard let first = recurrence.first(earliest: request.earliestBeginAt, now: now) else {
            throw Problem([
                FieldError(
                    pointer: "/recurrence",
                    .invalidValue,
                    """
                    Must have a time within eight years of when it may begin and, with its longest \
                    delay, by the end of year 9999.
                    """
                )
            ])
        }
        return first
    }

    /// Returns what is decided about a request that may not wait; nil for any other.
    private func immediate(
        _ request: BackgroundTaskRequest,
        _ id: BackgroundTaskRequestID,
        of client: ClientID,
        _ tenant: TenantID
    ) async throws -> (request: DueRequest, decision: LaunchDecision)? {
        guard request.strategy == .fail else { return nil }
        let due = try await stores.timers.immediateRequest(request, id, of: client, tenant: tenant)
        guard let due else { throw Problem.unknownClient }
        // What nobody here knows to be there may have to be waited for.
        let conditions = LaunchConditions(hasNetwork: hasNetwork() ?? false)
        return (due, LaunchDecision(due, conditions))
    }

    func list(of client: ClientID, _ tenant: TenantID) async throws -> Answer {
        let pending = try await stores.requests.pendingRequests(of: client, tenant: tenant)
        if pending.isEmpty { try await stores.clients.require(client, of: tenant) }
        return try .json(
            Page(items: pending.map { BackgroundTaskRequestDocument($0) }, nextCursor: nil)
        )
    }

    func get(_ address: BackgroundTaskAddress) async throws -> Answer {
        let pending = try await stores.requests.pendingRequest(
            address.identifier,
            of: address.client,
            tenant: address.tenant
        )
        guard let pending else {
            try await stores.clients.require(address.client, of: address.tenant)
            throw Problem(.unknownBackgroundTaskRequest)
        }
        return try .json(BackgroundTaskRequestDocument(pending))
    }

    func cancel(
        _ identifier: BackgroundTaskIdentifier?,
        of client: ClientID,
        _ tenant: TenantID
    ) async throws -> Answer {
        let cancelled = try await stores.requests.cancelRequests(
            identifier,
            of: client,
            tenant: tenant
        )
        guard let cancelled else { throw Problem.unknownClient }
        if identifier != nil, cancelled == 0 { throw Problem(.unknownBackgroundTaskRequest) }
        return Answer(status: .noContent)
    }
}

extension ClientStore {
    /// Throws the problem of an unknown client unless the tenant has it.
    func require(_ client: ClientID, of tenant: TenantID) async throws {
        guard try await self.client(tenant: tenant, id: client) != nil else {
            throw Problem.unknownClient
        }
    }
}

extension RequestWait.Reason {
    /// What keeps a request from its launch.
    fileprivate var obstacle: String {
        switch self {
        case .date: "its date is not reached"
        case .interval: "the time since its last launch is too short"
        case .relaunch: "nobody accepted its last launch, and the next one is due later"
        case .network: "the network is not known to be reachable"
        case .capacity: "the capacity of the tenant is busy"
        case .run: "a launch of the identifier is running"
        case .budget: "the client has \(BackgroundTaskRun.openMax) open runs"
        case .subscription: "all subscriptions that ask for launches are disabled"
        case .clientForceQuit: "the client was force-quit"
        case .disabled: "the tenant has background tasks switched off"
        }
    }
}

extension BackgroundTaskRequestDocument {
    init(_ pending: PendingRequest) {
        let request = pending.request
        self.init(
            id: pending.id.description,
            identifier: request.identifier.name,
            client: pending.client.name,
            kind: pending.kind.rawValue,
            submittedAt: Timestamp(pending.submittedAt),
            requiresNetworkConnectivity: request.requiresNetworkConnectivity,
            requiresExternalPower: request.requiresExternalPower,
            cancelsTransfersAtExpiry: request.cancelsTransfersAtExpiry,
            completesWithTransfers: request.completesWithTransfers,
            waitsFor: Wait(
                reason: pending.wait.reason.rawValue,
                since: Timestamp(pending.wait.since),
                until: pending.wait.until.map(Timestamp.init)
            )
        )
        earliestBeginAt = request.earliestBeginAt.map(Timestamp.init)
        minIntervalSeconds = request.minInterval.map(\.givenSeconds)
        recurrence = request.recurrence.map { RecurrenceDocument($0) }
        title = request.title
        subtitle = request.subtitle
    }
}

extension RecurrenceDocument {
    fileprivate init(_ recurrence: Recurrence) {
        self.init()
        switch recurrence.rule {
        case .every(let interval): everySeconds = interval.givenSeconds
        case .cron(let expression, let zone):
            cron = expression.text
            // Foundation names both so.
            timeZone = zone.identifier == "GMT" ? "UTC" : zone.identifier
        }
        missed = recurrence.missed.rawValue
        jitterSeconds = recurrence.jitter.givenSeconds
    }
}

extension Problem {
    fileprivate static let taskNotPermitted = Problem(
        .notPermitted,
        "The tenant has to permit the identifier, and the client to register a handler."
    )

    /// The problem of a request whose handler is another one each time that it is looked at.
    fileprivate static let taskInFlux = Problem(
        .unavailable,
        "The background task is being registered or launched."
    )

    /// The problem of a request that may not wait, and would for this reason.
    fileprivate init(ineligible reason: RequestWait.Reason?) {
        self.init(
            .immediateRunIneligible,
            reason.map {
                "It would wait (`\($0.rawValue)`: \($0.obstacle)), and the strategy is `fail`."
            } ?? "It cannot run at once, and the strategy `fail` does not let it wait."
        )
    }

    /// The problem of a request that says what its kind of handler has no use for.
    fileprivate init(unfitFor kind: BackgroundTaskKind) {
        let rule =
            switch kind {
            case .appRefresh: "takes no title, strategy or need of power"
            case .processing: "takes no title and no strategy"
            case .continuedProcessing:
                "needs a title, and takes no date, interval, recurrence or need of power"
            }
        self.init([
            FieldError(
                pointer: "/identifier",
                .invalidValue,
                "Its handler is of the kind `\(kind.rawValue)`, which \(rule)."
            )
        ])
    }
}
