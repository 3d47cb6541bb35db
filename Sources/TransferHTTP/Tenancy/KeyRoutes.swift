import Hummingbird
import TransferModel
import TransferStore
import TransferWire

/// The routes of `/v1/keys`: the API keys of the caller's own tenant.
struct KeyRoutes: Sendable {
    let stores: APIStores
    /// A function called with the identifier of a key that was revoked, which ends what uses it
    /// here at once.
    let onRevoked: @Sendable (String) -> Void

    func add(to router: APIRouter) {
        router.post("/v1/keys", scope: .admin) { request, context in
            try await create(request.jsonBody(), by: context.requireCaller())
        }
        router.get("/v1/keys", scope: .admin, hasQuery: true) { request, context in
            let query = try QueryParameters(request, allowed: ["limit", "cursor"])
            let tenant = try context.requireTenant()
            return try await RequestResources.listing { try await list(query, tenant: tenant) }
        }
        router.delete("/v1/keys/{id}", scope: .admin) { _, context in
            try await revoke(context.parameters.get("id"), tenant: context.requireTenant())
        }
    }

    func create(_ body: [UInt8], by caller: Caller) async throws -> Answer {
        let key = APIKey.generate()
        let request = try await decoded(KeyRequest.self, from: body)
        let now = try await stores.database.currentTime()
        let new = try request.newKey(key, by: caller, now: now)
        let createdAt = try await stores.keys.createAPIKey(new, tenant: caller.tenant)
        var document = KeyDocument(
            id: new.id,
            name: new.name,
            scopes: new.scopes.names,
            createdAt: Timestamp(createdAt),
            expiresAt: new.expiresAt.map(Timestamp.init),
            requestsPerSecondMax: new.requestsPerSecondMax
        )
        document.key = key.serialized
        return try .json(document, status: .created)
    }

    func list(_ query: QueryParameters, tenant: TenantID) async throws -> Answer {
        let limit = try query.limit()
        var after: String?
        if let cursor = try query.cursor() {
            guard case .key(let id) = cursor else { throw QueryParameters.foreignCursor }
            after = id
        }
        let keys = try await stores.keys.apiKeys(tenant: tenant, after: after, limit: limit + 1)
        return try await .page(
            keys,
            limit: limit,
            document: { KeyDocument($0) },
            cursor: { .key(id: $0.id) }
        )
    }

    func revoke(_ id: String?, tenant: TenantID) async throws -> Answer {
        guard let id, APIKey.isID(id.utf8) else { throw Problem(.unknownKey) }
        switch try await stores.keys.revokeAPIKey(id: id, tenant: tenant) {
        case .revoked:
            onRevoked(id)
            return Answer(status: .noContent)
        case .lastAdministrator:
            throw Problem(
                .lastAdminKey,
                """
                The tenant has no other good key with the scope `admin`. Create one first, or \
                revoke this one with `transferd keys revoke`.
                """
            )
        case .unknown: throw Problem(.unknownKey)
        }
    }
}

extension KeyDocument {
    fileprivate init(_ key: APIKeyRecord) {
        self.init(
            id: key.id,
            name: key.name,
            scopes: key.scopes.names,
            createdAt: Timestamp(key.createdAt),
            lastUsedAt: key.lastUsedAt.map(Timestamp.init),
            expiresAt: key.expiresAt.map(Timestamp.init),
            revokedAt: key.revokedAt.map(Timestamp.init),
            requestsPerSecondMax: key.requestsPerSecondMax
        )
    }
}
