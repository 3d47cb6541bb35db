import Hummingbird
import TransferModel
import TransferStore
import TransferWire

/// The routes of `/v1/clients` and of `/v1/clients/{client}` with its lifecycle.
struct ClientRoutes: Sendable {
    let stores: APIStores
    let tell: @Sendable (Set<Signal>) -> Void

    func add(to router: APIRouter) {
        router.get("/v1/clients", scope: .read, hasQuery: true) { request, context in
            let query = try QueryParameters(request, allowed: ["limit", "cursor"])
            let tenant = try context.requireTenant()
            return try await RequestResources.listing { try await list(query, tenant: tenant) }
        }
        router.put("/v1/clients/{client}", scope: .submit) { request, context in
            let id = try context.clientID()
            return try await put(id, request.jsonBody(), tenant: context.requireTenant())
        }
        router.get("/v1/clients/{client}", scope: .read) { _, context in
            try await get(context.clientID(), tenant: context.requireTenant())
        }
        router.delete("/v1/clients/{client}", scope: .control) { _, context in
            try await remove(context.clientID(), tenant: context.requireTenant())
        }
        router.post("/v1/clients/{client}/launch", scope: .control) { _, context in
            try await launch(context.clientID(), tenant: context.requireTenant())
        }
        router.post("/v1/clients/{client}/background", scope: .control) { _, context in
            try await enterBackground(context.clientID(), tenant: context.requireTenant())
        }
        router.post("/v1/clients/{client}/suspend", scope: .control) { _, context in
            try await suspend(context.clientID(), tenant: context.requireTenant())
        }
        router.post("/v1/clients/{client}/terminate", scope: .control) { _, context in
            try await terminate(context.clientID(), tenant: context.requireTenant())
        }
        router.post("/v1/clients/{client}/force-quit", scope: .control) { _, context in
            try await forceQuit(context.clientID(), tenant: context.requireTenant())
        }
    }

    func list(_ query: QueryParameters, tenant: TenantID) async throws -> Answer {
        let limit = try query.limit()
        var after: ClientID?
        if let cursor = try query.cursor() {
            guard case .client(let id) = cursor else { throw QueryParameters.foreignCursor }
            after = id
        }
        let clients = try await stores.clients.clients(
            tenant: tenant,
            after: after,
            limit: limit + 1
        )
        return try await .page(
            clients,
            limit: limit,
            document: { ClientDocument($0) },
            cursor: { .client($0.id) }
        )
    }

    func put(_ id: ClientID, _ body: [UInt8], tenant: TenantID) async throws -> Answer {
        let request = try await body.isEmpty ? nil : decoded(ClientRequest.self, from: body)
        let kind = try request?.kind.map { name throws(Problem) in
            guard let kind = Client.Kind(word: name) else {
                throw Problem([
                    FieldError(pointer: "/kind", .invalidValue, "Must be `app` or `extension`.")
                ])
            }
            return kind
        }
        let (client, isCreated) = try await stores.clients.putClient(
            tenant: tenant,
            id: id,
            kind: kind ?? .app
        )
        guard client.removedAt == nil else { throw Problem.clientRemoved }
        guard kind ?? client.kind == client.kind else {
            throw Problem(.clientKindDiffers, "The client is of kind `\(client.kind.rawValue)`.")
        }
        return try .json(
            ClientDocument(client),
            status: isCreated ? .created : .ok,
            location: APIPath.client(id.name)
        )
    }

    func get(_ id: ClientID, tenant: TenantID) async throws -> Answer {
        try Self.answer(await stores.clients.client(tenant: tenant, id: id))
    }

    func launch(_ id: ClientID, tenant: TenantID) async throws -> Answer {
        let client = try await stores.clients.launch(tenant: tenant, id: id)
        guard client?.removedAt == nil else { throw Problem.clientRemoved }
        let answer = try Self.answer(client)
        // Events held back for the client are due now, and so are its background tasks.
        tell(.ofTasks.union(Set<Signal>.ofClients))
        return answer
    }

    func enterBackground(_ id: ClientID, tenant: TenantID) async throws -> Answer {
        let client = try await stores.clients.enterBackground(tenant: tenant, id: id)
        if client?.lifecycle == .forceQuit { throw Problem.forceQuit(id) }
        tell(.ofClients)
        return try Self.answer(client)
    }

    func suspend(_ id: ClientID, tenant: TenantID) async throws -> Answer {
        let client = try await stores.clients.suspend(tenant: tenant, id: id)
        switch client?.lifecycle {
        case .forceQuit: throw Problem.forceQuit(id)
        case .terminated: throw Problem.clientNotRunning
        case .active, .background: throw Problem(.assertionsHeld)
        case .suspended, nil: break
        }
        tell(.ofClients)
        return try Self.answer(client)
    }

    func terminate(_ id: ClientID, tenant: TenantID) async throws -> Answer {
        let client = try await stores.clients.terminate(tenant: tenant, id: id)
        if client?.lifecycle == .forceQuit { throw Problem.forceQuit(id) }
        tell(.ofClients)
        return try Self.answer(client)
    }

    func forceQuit(_ id: ClientID, tenant: TenantID) async throws -> Answer {
        let answer = try Self.answer(await stores.clients.forceQuit(tenant: tenant, id: id))
        // Workers have to stop the client's tasks.
        tell(.ofTasks)
        return answer
    }

    func remove(_ id: ClientID, tenant: TenantID) async throws -> Answer {
        guard id != .default else {
            throw Problem(.clientNotRemovable, "A tenant has the client `default` always.")
        }
        guard let client = try await stores.clients.beginClientRemoval(tenant: tenant, id: id)
        else {
            throw Problem.unknownClient
        }
        // As for a force-quit.
        tell(.ofTasks)
        return try .json(
            ClientDocument(client),
            status: .accepted,
            location: APIPath.client(id.name)
        )
    }

    private static func answer(_ client: Client?) throws -> Answer {
        guard let client else { throw Problem.unknownClient }
        return try .json(ClientDocument(client))
    }
}

extension ClientDocument {
    init(_ client: Client) {
        self.init(
            identifier: client.id.name,
            id: client.log.uuid.text,
            kind: client.kind.rawValue,
            lifecycle: client.lifecycle.rawValue,
            lifecycleChangedAt: Timestamp(client.lifecycleChangedAt),
            lastEventSequence: client.lastEventSequence,
            createdAt: Timestamp(client.createdAt),
            removedAt: client.removedAt.map(Timestamp.init)
        )
    }
}
