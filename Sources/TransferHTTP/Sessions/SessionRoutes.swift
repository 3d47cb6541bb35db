import HTTPTypes
import Hummingbird
import TransferModel
import TransferStore
import TransferWire

/// The routes of `/v1/sessions` and `/v1/sessions/{identifier}`.
struct SessionRoutes: Sendable {
    let stores: APIStores
    let poll: SharedPoll<SessionID, Int64>
    let keys: KeyWatch
    /// The slots of requests that wait for a session.
    let slots: ReaderSlots
    let tell: @Sendable (Set<Signal>) -> Void

    func add(to router: APIRouter) {
        router.get("/v1/sessions", scope: .read, hasQuery: true) { request, context in
            let query = try QueryParameters(
                request,
                allowed: [QueryParameters.client, "prefix", "outstanding", "limit", "cursor"]
            )
            let tenant = try context.requireTenant()
            return try await RequestResources.listing { try await list(query, tenant: tenant) }
        }
        router.put(
            "/v1/sessions/{identifier}",
            scope: .submit,
            hasQuery: true
        ) { request, context in
            let query = try QueryParameters(
                request,
                allowed: [QueryParameters.client, "reconnect"]
            )
            let session = try context.session(query)
            let isReconnecting = try query.boolean("reconnect")
            let caller = try context.requireCaller()
            if isReconnecting { try caller.require(RouteScopes.reconnection) }
            let body = try await request.jsonBody()
            let condition = RevisionCondition(request.headers)
            guard isReconnecting else {
                return try await put(session, body, if: condition, reconnecting: false, by: caller)
            }
            return try await RequestResources.listing {
                try await put(session, body, if: condition, reconnecting: true, by: caller)
            }
        }
        router.get("/v1/sessions/{identifier}", scope: .read, hasQuery: true) { request, context in
            try await get(
                context.session(request),
                waiting: WaitPreference(request.headers),
                for: context.requireCaller()
            )
        }
        router.patch(
            "/v1/sessions/{identifier}",
            scope: .control,
            hasQuery: true
        ) { request, context in
            let session = try context.session(request)
            let condition = RevisionCondition(request.headers)
            return try await change(session, request.jsonBody(), if: condition)
        }
        router.delete(
            "/v1/sessions/{identifier}",
            scope: .control,
            hasQuery: true
        ) { request, context in
            try await invalidate(context.session(request), if: RevisionCondition(request.headers))
        }
        router.post(
            "/v1/sessions/{identifier}/invalidate",
            scope: .control,
            hasQuery: true
        ) { request, context in
            try await invalidate(context.session(request), if: RevisionCondition(request.headers))
        }
        router.post(
            "/v1/sessions/{identifier}/finish",
            scope: .control,
            hasQuery: true
        ) { request, context in
            try await finish(context.session(request), if: RevisionCondition(request.headers))
        }
    }

    func list(_ query: QueryParameters, tenant: TenantID) async throws -> Answer {
        let limit = try query.limit()
        let client = try query.client()
        var after: SessionPlace?
        if let cursor = try query.cursor() {
            guard case .session(let owner, let identifier) = cursor else {
                throw QueryParameters.foreignCursor
            }
            after = SessionPlace(client: owner, identifier: identifier)
        }
        let sessions = try await stores.sessions.sessions(
            tenant: tenant,
            client: client,
            prefix: try query.sessionPrefix(),
            isOutstanding: try query.boolean("outstanding"),
            after: after,
            limit: limit
        )
        return try await .page(
            sessions,
            document: { SessionDocument($0) },
            place: { SessionPlace(client: $0.client, identifier: $0.identifier) },
            cursor: { .session($0.client, identifier: $0.identifier) },
            name: \.identifier
        )
    }

    func put(
        _ address: SessionAddress,
        _ body: [UInt8],
        if condition: RevisionCondition = .none,
        reconnecting isReconnecting: Bool,
        by caller: Caller
    ) async throws -> Answer {
        let request = try await body.isEmpty ? nil : decoded(SessionRequest.self, from: body)
        let configuration = try request?.configuration?.configuration()
        let kind = try request?.sessionKind()
        let result = try await stores.sessions.putSession(
            tenant: address.tenant,
            client: address.client,
            identifier: address.identifier,
            kind: kind,
            configuration: configuration,
            if: condition,
            mayChange: caller.scopes.contains(RouteScopes.change)
        )
        switch result {
        case .created(let session):
            return try .json(
                await document(of: session, reconnecting: isReconnecting),
                revision: session.revision,
                status: .created,
                location: address.path
            )
        case .updated(let session):
            guard kind ?? session.kind == session.kind else {
                throw Problem(
                    .sessionKindDiffers,
                    "The session is of kind `\(session.kind.rawValue)`."
                )
            }
            // Running tasks follow limits that have changed.
            tell(.ofTasks)
            return try .json(
                await document(of: session, reconnecting: isReconnecting),
                revision: session.revision,
                location: address.path
            )
        case .conditionFailed: throw Problem(.preconditionFailed)
        case .configurationDiffers:
            throw Problem(needing: RouteScopes.change, insteadOf: caller.scopes)
        case .unknownClient: throw Problem.unknownClient
        case .sharedContainerRequired: throw Self.sharedContainerRequired
        }
    }

    private func document(
        of session: Session,
        reconnecting isReconnecting: Bool
    ) async throws -> SessionDocument {
        var document = SessionDocument(session)
        if isReconnecting {
            let settings = ReconnectSettings()
            let taken = try await settings.takeOver(session, by: session.client, in: stores)
            document.reconnection = ReconnectionDocument(taken, in: settings.format)
        }
        return document
    }

    private static let sharedContainerRequired = Problem([
        FieldError(
            pointer: "/configuration/shared_container_identifier",
            .sharedContainerRequired,
            "A session of an extension names the container that it shares with its app."
        )
    ])

    func change(
        _ address: SessionAddress,
        _ body: [UInt8],
        if condition: RevisionCondition
    ) async throws -> Answer {
        let patch = try await decoded(JSONValue.self, from: body)
        for _ in 0..<Self.triesMax {
            let session = try await session(address)
            // The patch is written and read once more.
            let configuration = try await RequestResources.decoding(body.count) {
                try session.configuration(changedBy: patch)
            }
            // The change is made to this revision or not at all.
            guard condition.revisions?.contains(session.revision) ?? true else {
                throw Problem(.preconditionFailed)
            }
            if session.configuration.sharedContainerIdentifier != nil,
                configuration.sharedContainerIdentifier == nil,
                let client = try await stores.clients.client(
                    tenant: address.tenant,
                    id: address.client
                ),
                client.kind == .extension
            {
                throw Self.sharedContainerRequired
            }
            guard try await stores.sessions.changeSession(session, to: configuration) else {
                continue
            }
            tell(.ofTasks)
            let changed = try await self.session(address)
            return try .json(SessionDocument(changed), revision: changed.revision)
        }
        throw Problem(.unavailable, "The session is being changed by too many at once.")
    }

    /// The maximum number of tries of a change that keeps conflicting with others.
    private static let triesMax = 20

    /// Answers with a session, and waits before that until nothing of it is outstanding, as long as
    /// the request prefers to wait.
    func get(
        _ address: SessionAddress,
        waiting preference: WaitPreference?,
        for caller: Caller
    ) async throws -> Answer {
        let session = try await session(address)
        guard let preference else {
            return try .json(SessionDocument(session), revision: session.revision)
        }
        if session.progress.outstanding > 0 {
            // A request without a slot is answered without waiting, and is not told that it waited.
            guard let slot = try? slots.take(for: caller.tenant) else {
                return try .json(SessionDocument(session), revision: session.revision)
            }
            defer { withExtendedLifetime(slot) {} }
            let key = keys.hold(caller)
            let limit = key.wait(upTo: .seconds(preference.seconds))
            _ = await poll.news(of: session.id, within: limit) { outstanding in
                key.isOver || outstanding ?? 0 == 0
            }
            try key.check()
        }
        // The end of its work may have been its own end.
        let changed = try await stores.sessions.sessionOrEnded(
            tenant: address.tenant,
            client: address.client,
            identifier: address.identifier
        )
        let now = changed ?? session
        var answer = try Answer.json(SessionDocument(now), revision: now.revision)
        answer.preferenceApplied = preference.applied
        return answer
    }

    private func session(_ address: SessionAddress) async throws -> Session {
        let session = try await stores.sessions.session(
            tenant: address.tenant,
            client: address.client,
            identifier: address.identifier
        )
        guard let session else { throw try await stores.clients.noSession(at: address) }
        return session
    }

    func finish(_ address: SessionAddress, if condition: RevisionCondition) async throws -> Answer {
        let result = try await stores.sessions.finishSession(
            tenant: address.tenant,
            client: address.client,
            identifier: address.identifier,
            if: condition
        )
        switch result {
        case .finishing: return Answer(status: .accepted, location: address.path)
        case .ended:
            tell(.ofTasks)
            return Answer(status: .noContent)
        case .unknownSession: throw try await refusal(at: address, condition)
        }
    }

    func invalidate(
        _ address: SessionAddress,
        if condition: RevisionCondition
    ) async throws -> Answer {
        let isEnded = try await stores.sessions.invalidateSession(
            tenant: address.tenant,
            client: address.client,
            identifier: address.identifier,
            if: condition
        )
        guard isEnded else { throw try await refusal(at: address, condition) }
        tell(.ofTasks)
        return Answer(status: .noContent)
    }

    /// Returns the problem of a request that has not ended a session: there is none, or it does not
    /// meet the condition.
    private func refusal(
        at address: SessionAddress,
        _ condition: RevisionCondition
    ) async throws -> Problem {
        if condition.revisions != nil {
            _ = try await session(address)
            return Problem(.preconditionFailed)
        }
        return try await stores.clients.noSession(at: address)
    }
}

extension ClientStore {
    /// Returns the problem of a request whose session does not exist, or whose client does not
    /// exist.
    func noSession(at address: SessionAddress) async throws -> Problem {
        guard address.client != .default else { return Problem(.unknownSession) }
        let client = try await client(tenant: address.tenant, id: address.client)
        return client == nil ? .unknownClient : Problem(.unknownSession)
    }
}

extension Session {
    fileprivate func configuration(changedBy patch: JSONValue) throws -> SessionConfiguration {
        do {
            let request = try SessionPatchRequest(
                changing: SessionDocument(self).configuration,
                headers: Dictionary(
                    configuration.additionalHeaders.map { ($0.name, $0.value) },
                    uniquingKeysWith: { first, _ in first }
                ),
                by: patch
            )
            return try request.configuration?.configuration() ?? SessionConfiguration()
        } catch let failure as WireDecoder.Failure {
            throw Problem(failure)
        }
    }
}

extension SessionDocument {
    init(_ session: Session) {
        let configuration = session.configuration
        var options = configuration.options
        options.timeoutForRequest = configuration.timeoutForRequest
        options.timeoutForResource = configuration.timeoutForResource
        self.init(
            client: session.client.name,
            identifier: session.identifier,
            id: session.id.uuid.text,
            kind: session.kind.rawValue,
            configuration: Configuration(
                headerNames: configuration.additionalHeaders.map(\.name),
                totalBytesPerSecondMax: configuration.totalBytesPerSecondMax,
                sharedContainerIdentifier: configuration.sharedContainerIdentifier,
                resultRetention: configuration.resultRetention.map(\.givenSeconds),
                maxConnectionsPerHost: configuration.maxConnectionsPerHost,
                isDiscretionary: configuration.isDiscretionary,
                options: options.members
            ),
            generation: session.progress.generation,
            outstanding: session.progress.outstanding,
            completed: session.progress.completed,
            failed: session.progress.failed,
            cancelled: session.progress.cancelled,
            taskCounts: session.taskCounts.byState,
            bytesReceived: session.taskCounts.bytesReceived,
            bytesSent: session.taskCounts.bytesSent,
            lastEventSequence: session.progress.lastSequence,
            isFinishing: session.isFinishing,
            createdAt: Timestamp(session.createdAt)
        )
    }
}
