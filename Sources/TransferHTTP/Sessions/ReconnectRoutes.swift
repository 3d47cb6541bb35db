import Hummingbird
import TransferModel
import TransferStore
import TransferWire

/// The routes of `/v1/sessions/{identifier}/reconnect`, and of `/v1/leases/{id}` for the leases it
/// has given out.
struct ReconnectRoutes: Sendable {
    let stores: APIStores

    func add(to router: APIRouter) {
        router.post(
            "/v1/sessions/{identifier}/reconnect",
            scope: RouteScopes.reconnection,
            hasQuery: true
        ) { request, context in
            let session = try context.session(request)
            let body = try await request.jsonBody()
            return try await RequestResources.listing { try await reconnect(session, body) }
        }
        router.patch("/v1/leases/{id}", scope: .control) { request, context in
            let lease = try context.leaseToken()
            return try await renew(lease, request.jsonBody(), tenant: context.requireTenant())
        }
        router.delete("/v1/leases/{id}", scope: .control) { _, context in
            try await release(context.leaseToken(), tenant: context.requireTenant())
        }
    }

    func reconnect(_ address: SessionAddress, _ body: [UInt8]) async throws -> Answer {
        let request =
            try await body.isEmpty ? ReconnectRequest() : decoded(ReconnectRequest.self, from: body)
        let settings = try request.settings()
        let session = try await session(address, adopted: settings.adoption)
        let reconnection = try await settings.takeOver(session, by: address.client, in: stores)
        return try await RequestResources.onJSONThreads {
            try .json(ReconnectionDocument(reconnection, in: settings.format))
        }
    }

    /// Returns the session of the request: the client's own, or an extension's session that it
    /// adopts.
    private func session(
        _ address: SessionAddress,
        adopted adoption: ReconnectSettings.Adoption?
    ) async throws -> Session {
        var owner = address
        if let adoption {
            let clients = stores.clients
            guard
                let adopter = try await clients.client(tenant: address.tenant, id: address.client),
                let adopted = try await clients.client(tenant: address.tenant, id: adoption.client)
            else { throw Problem.unknownClient }
            guard adopter.kind == .app, adopted.kind == .extension else {
                throw Problem([
                    FieldError(
                        pointer: "/creation_info/client",
                        .invalidValue,
                        "An app adopts sessions of extensions."
                    )
                ])
            }
            owner = SessionAddress(
                tenant: address.tenant,
                client: adoption.client,
                identifier: address.identifier
            )
        }
        let session = try await stores.sessions.session(
            tenant: owner.tenant,
            client: owner.client,
            identifier: owner.identifier
        )
        guard let session else { throw try await stores.clients.noSession(at: owner) }
        let container = session.configuration.sharedContainerIdentifier
        if let adoption, container != adoption.container {
            throw Problem([
                FieldError(
                    pointer: "/creation_info/shared_container_identifier",
                    .invalidValue,
                    "The session has another container."
                )
            ])
        }
        return session
    }

    func renew(_ lease: LeaseToken, _ body: [UInt8], tenant: TenantID) async throws -> Answer {
        let request = try await decoded(LeaseRequest.self, from: body)
        var errors: [FieldError] = []
        let time = LeaseTime(request.leaseSeconds, into: &errors)
        guard errors.isEmpty else { throw Problem(errors) }
        guard let renewed = try await stores.sessions.renewLease(tenant: tenant, lease, for: time)
        else {
            throw Problem(.unknownLease)
        }
        return try .json(
            LeaseDocument(
                leaseToken: lease.description,
                leaseExpiresAt: renewed.expiresAt.map(Timestamp.init),
                tasks: renewed.tasks
            )
        )
    }

    func release(_ lease: LeaseToken, tenant: TenantID) async throws -> Answer {
        guard try await stores.sessions.releaseLease(tenant: tenant, lease) else {
            throw Problem(.unknownLease)
        }
        return Answer(status: .noContent)
    }
}

extension ReconnectionDocument {
    /// Creates the document of the tasks that were taken over.
    init(_ reconnection: Reconnection, in format: PersistedFormat?) {
        let isEmpty = reconnection.items.isEmpty
        self.init(
            items: reconnection.items.map { item in
                switch item.result(in: format) {
                case .success(let task): Item(TaskDocument(task))
                case .failure(let error):
                    Item(
                        Failure(
                            taskID: item.id.description,
                            kind: error.rawValue,
                            message: error.message
                        )
                    )
                }
            },
            leaseToken: isEmpty ? nil : reconnection.lease.description,
            leaseExpiresAt: reconnection.expiresAt.map(Timestamp.init),
            nextCursor: reconnection.next.map { Cursor.task($0).serialized }
        )
    }
}

extension LeaseTime {
    /// Reads the lease time that a client names, and adds what is wrong with it to `errors`.
    fileprivate init(_ seconds: Int64??, into errors: inout [FieldError]) {
        switch seconds {
        case .none: self = .seconds(Self.secondsDefault)
        case .some(.none): self = .forGood
        case .some(.some(let seconds)):
            if !Self.secondsRange.contains(seconds) {
                let range = Self.secondsRange
                errors.append(
                    FieldError(
                        pointer: "/lease_seconds",
                        .invalidValue,
                        "Must be from \(range.lowerBound) to \(range.upperBound), or null."
                    )
                )
            }
            self = .seconds(seconds)
        }
    }
}

extension ReconnectRequest {
    /// Returns the settings that the request asks for.
    fileprivate func settings() throws(Problem) -> ReconnectSettings {
        var errors: [FieldError] = []
        func refuse(_ pointer: String, _ detail: String) {
            errors.append(FieldError(pointer: pointer, .invalidValue, detail))
        }
        var settings = ReconnectSettings()
        settings.time = LeaseTime(leaseSeconds, into: &errors)
        if let owner {
            let most = Reconnection.ownerBytesMax
            if !(1...most).contains(owner.utf8.count) || owner.utf8.contains(0) {
                refuse("/owner", "Must have 1 to \(most) bytes of UTF-8 and no NUL.")
            }
            settings.owner = owner
        }
        if let limit {
            if !(1...Reconnection.limitMax).contains(limit) {
                refuse("/limit", "Must be from 1 to \(Reconnection.limitMax).")
            }
            settings.limit = limit
        }
        if let cursor {
            if case .task(let id) = Cursor(cursor) {
                settings.after = id
            } else {
                refuse("/cursor", "Must be the `next_cursor` of an earlier reconnection.")
            }
        }
        if let persistedFormat {
            let kinds = persistedFormat.kinds
            if !(1...PersistedFormat.kindsMax).contains(kinds.count)
                || kinds.contains(where: CombiningMarks.areTooMany)
            {
                refuse(
                    "/persisted_format/kinds",
                    "Must name 1 to \(PersistedFormat.kindsMax) kinds, with at most "
                        + "\(CombiningMarks.rowMax) combining marks in a row."
                )
            } else {
                settings.format = PersistedFormat(
                    version: persistedFormat.version,
                    kinds: Set(kinds)
                )
            }
        }
        if let creationInfo {
            let client = ClientID(creationInfo.client)
            let container = ClientID(creationInfo.sharedContainerIdentifier)
            if client == nil { refuse("/creation_info/client", ClientRule.name) }
            // Sessions have no others, and those of many marks would take hours to compare.
            if container == nil {
                refuse("/creation_info/shared_container_identifier", ClientRule.name)
            }
            if let client, container != nil {
                settings.adoption = ReconnectSettings.Adoption(
                    client: client,
                    container: creationInfo.sharedContainerIdentifier
                )
            }
        }
        guard errors.isEmpty else { throw Problem(errors) }
        return settings
    }
}
