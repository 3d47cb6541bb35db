import Hummingbird
import TransferModel
import TransferStore
import TransferWire

/// The routes of `/v1/background-tasks/handlers`.
struct HandlerRoutes: Sendable {
    let stores: APIStores

    func add(to router: APIRouter) {
        router.get(
            "/v1/background-tasks/handlers",
            scope: .read,
            hasQuery: true
        ) { request, context in
            let query = try QueryParameters(request, allowed: [QueryParameters.client])
            return try await list(of: query.client() ?? .default, context.requireTenant())
        }
        router.put(
            "/v1/background-tasks/handlers/{identifier}",
            scope: .control,
            hasQuery: true
        ) { request, context in
            let address = try context.backgroundTask(request)
            return try await register(address, request.jsonBody())
        }
        router.get(
            "/v1/background-tasks/handlers/{identifier}",
            scope: .read,
            hasQuery: true
        ) { request, context in
            try await get(context.backgroundTask(request))
        }
        router.delete(
            "/v1/background-tasks/handlers/{identifier}",
            scope: .control,
            hasQuery: true
        ) { request, context in
            try await remove(context.backgroundTask(request))
        }
    }

    func register(_ address: BackgroundTaskAddress, _ body: [UInt8]) async throws -> Answer {
        let request = try await decoded(HandlerRequest.self, from: body)
        guard let kind = BackgroundTaskKind(word: request.kind) else {
            let kinds = BackgroundTaskKind.allCases.map { "`\($0.rawValue)`" }
            throw Problem([
                FieldError(
                    pointer: "/kind",
                    .invalidValue,
                    "Must be one of \(kinds.joined(separator: ", "))."
                )
            ])
        }
        let result = try await stores.handlers.registerHandler(
            address.identifier,
            kind: kind,
            hasExpirationHandler: request.hasExpirationHandler ?? true,
            of: address.client,
            tenant: address.tenant
        )
        switch result {
        case .registered(let handler):
            return try .json(
                HandlerDocument(handler, of: address.client),
                status: .created,
                location: APIPath.handler(address.identifier, of: address.client.nameInLinks)
            )
        case .registeredBefore:
            throw Problem(.handlerRegistered, "DELETE it before it is registered again.")
        case .notPermitted: throw Problem.identifierNotPermitted
        case .unknownClient: throw Problem.unknownClient
        }
    }

    func list(of client: ClientID, _ tenant: TenantID) async throws -> Answer {
        let handlers = try await stores.handlers.handlers(of: client, tenant: tenant)
        if handlers.isEmpty { try await stores.clients.require(client, of: tenant) }
        return try .json(
            Page(items: handlers.map { HandlerDocument($0, of: client) }, nextCursor: nil)
        )
    }

    func get(_ address: BackgroundTaskAddress) async throws -> Answer {
        let handler = try await stores.handlers.handler(
            address.identifier,
            of: address.client,
            tenant: address.tenant
        )
        guard let handler else {
            try await stores.clients.require(address.client, of: address.tenant)
            throw Problem(.unknownHandler)
        }
        return try .json(HandlerDocument(handler, of: address.client))
    }

    func remove(_ address: BackgroundTaskAddress) async throws -> Answer {
        let isRemoved = try await stores.handlers.removeHandler(
            address.identifier,
            of: address.client,
            tenant: address.tenant
        )
        guard isRemoved else {
            try await stores.clients.require(address.client, of: address.tenant)
            throw Problem(.unknownHandler)
        }
        return Answer(status: .noContent)
    }
}

extension HandlerDocument {
    fileprivate init(_ handler: BackgroundTaskHandler, of client: ClientID) {
        self.init(
            identifier: handler.identifier.name,
            client: client.name,
            kind: handler.kind.rawValue,
            hasExpirationHandler: handler.hasExpirationHandler,
            registeredAt: Timestamp(handler.registeredAt)
        )
    }
}
