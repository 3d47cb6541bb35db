import HTTPTypes
import Hummingbird
import TransferModel
import TransferStore
import TransferWire

/// `/v1/sessions` and `/v1/sessions/{identifier}`.
struct SessionRoutes: Sendable {
    let store: TransferStore
    let wake: @Sendable () -> Void

    func add(to router: Router<APIContext>) {
        router.get("/v1/sessions") { request, context in
            let query = try QueryParameters(request, allowed: ["limit", "cursor"])
            return try await list(query, tenant: context.requireTenant())
        }
        router.put("/v1/sessions/{identifier}") { request, context in
            try await put(
                request.jsonBody(),
                identifier: context.sessionIdentifier(),
                tenant: context.requireTenant()
            )
        }
        router.get("/v1/sessions/{identifier}") { _, context in
            try await get(context.sessionIdentifier(), tenant: context.requireTenant())
        }
        router.patch("/v1/sessions/{identifier}") { request, context in
            try await change(
                request.jsonBody(),
                identifier: context.sessionIdentifier(),
                tenant: context.requireTenant()
            )
        }
        router.delete("/v1/sessions/{identifier}") { _, context in
            try await delete(context.sessionIdentifier(), tenant: context.requireTenant())
        }
    }

    func list(_ query: QueryParameters, tenant: TenantID) async throws -> Answer {
        let limit = try query.limit()
        var after: String?
        if let cursor = try query.cursor() {
            guard case .session(let identifier) = cursor else {
                throw QueryParameters.foreignCursor
            }
            after = identifier
        }
        let sessions = try await store.sessions(tenant: tenant, after: after, limit: limit + 1)
        return try .json(
            Page(sessions, limit: limit, document: SessionDocument.init) {
                .session(identifier: $0.identifier)
            }
        )
    }

    func put(_ body: [UInt8], identifier: String, tenant: TenantID) async throws -> Answer {
        let request = body.isEmpty ? nil : try decoded(SessionRequest.self, from: body)
        let configuration =
            try request?.configuration?.configuration() ?? SessionConfiguration()
        let kind = try request?.sessionKind()
        let (session, isCreated) = try await store.putSession(
            tenant: tenant,
            identifier: identifier,
            kind: kind,
            configuration: configuration
        )
        guard kind ?? session.kind == session.kind else {
            throw Problem(.sessionKindDiffers, "The session is of kind `\(session.kind.rawValue)`.")
        }
        // Running tasks follow limits that have changed.
        if !isCreated { wake() }
        return try .json(
            SessionDocument(session),
            status: isCreated ? .created : .ok,
            location: APIPath.session(identifier)
        )
    }

    func change(_ body: [UInt8], identifier: String, tenant: TenantID) async throws -> Answer {
        let patch = try decoded(JSONValue.self, from: body)
        for _ in 0..<Self.triesMax {
            guard let session = try await store.session(tenant: tenant, identifier: identifier)
            else { throw Problem(.unknownSession) }
            let configuration = try session.configuration(changedBy: patch)
            guard try await store.changeSession(session, to: configuration) else { continue }
            wake()
            return try await get(identifier, tenant: tenant)
        }
        throw Problem(.unavailable, "The session is being changed by too many at once.")
    }

    /// Tries of a change that keeps meeting others.
    private static let triesMax = 20

    func get(_ identifier: String, tenant: TenantID) async throws -> Answer {
        guard let session = try await store.session(tenant: tenant, identifier: identifier) else {
            throw Problem(.unknownSession)
        }
        return try .json(SessionDocument(session))
    }

    func delete(_ identifier: String, tenant: TenantID) async throws -> Answer {
        guard try await store.invalidateSession(tenant: tenant, identifier: identifier) else {
            throw Problem(.unknownSession)
        }
        wake()
        return Answer(status: .noContent)
    }
}

/// The value of a body, or the problem with it.
func decoded<Value: Decodable>(
    _ type: Value.Type,
    from body: [UInt8]
) throws(Problem) -> Value {
    do throws(WireDecoder.Failure) {
        return try WireDecoder.decode(type, from: body)
    } catch {
        throw Problem(error)
    }
}

extension Page {
    /// A page of the first `limit` of `values`, of which one more was read to know of the next.
    init<Value>(
        _ values: [Value],
        limit: Int,
        document: (Value) -> Item,
        cursor: (Value) -> Cursor
    ) {
        let page = values.prefix(limit)
        let next = values.count > limit ? page.last.map(cursor) : nil
        self.init(items: page.map(document), nextCursor: next?.serialized)
    }
}

extension Session {
    fileprivate func configuration(changedBy patch: JSONValue) throws -> SessionConfiguration {
        do {
            let request = try SessionRequest(
                changing: SessionDocument(self).configuration,
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
            identifier: session.identifier,
            kind: session.kind.rawValue,
            configuration: Configuration(
                additionalHeaders: Dictionary(
                    configuration.additionalHeaders.map { ($0.name, $0.value) },
                    uniquingKeysWith: { first, _ in first }
                ),
                totalBytesPerSecondMax: configuration.totalBytesPerSecondMax,
                options: OptionsDocument(options)
            ),
            generation: session.progress.generation,
            outstanding: session.progress.outstanding,
            completed: session.progress.completed,
            failed: session.progress.failed,
            cancelled: session.progress.cancelled,
            lastEventSequence: session.progress.lastSequence,
            createdAt: Timestamp(session.createdAt)
        )
    }
}
