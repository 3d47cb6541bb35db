import Hummingbird
import TransferModel
import TransferStore
import TransferWire

/// The routes of `/v1/hosts` and `/v1/hosts/{host}`: the decisions about hosts that the tenant's
/// tasks use.
struct HostRoutes: Sendable {
    let stores: APIStores

    func add(to router: APIRouter) {
        router.get("/v1/hosts", scope: .read, hasQuery: true) { request, context in
            let query = try QueryParameters(request, allowed: ["limit", "cursor"])
            let tenant = try context.requireTenant()
            return try await RequestResources.listing { try await list(query, tenant: tenant) }
        }
        router.get("/v1/hosts/{host}", scope: .read) { _, context in
            try await get(context.parameters.get("host"), tenant: context.requireTenant())
        }
    }

    func list(_ query: QueryParameters, tenant: TenantID) async throws -> Answer {
        let limit = try query.limit()
        var after: String?
        if let cursor = try query.cursor() {
            guard case .host(let name) = cursor else { throw QueryParameters.foreignCursor }
            after = name
        }
        let hosts = try await stores.hosts.hosts(tenant: tenant, after: after, limit: limit + 1)
        return try await .page(
            hosts,
            limit: limit,
            document: { HostDocument($0, decisions: nil) },
            cursor: { .host(name: $0.name) }
        )
    }

    func get(_ name: String?, tenant: TenantID) async throws -> Answer {
        // Clients escape the colons, and the brackets of an address.
        guard let name = name.flatMap({ PercentDecoding.text($0[...]) }),
            let hostKey = HostKey(hostAndPort: name),
            let host = try await stores.hosts.host(hostKey, tenant: tenant)
        else { throw Problem(.unknownHost) }
        return try .json(HostDocument(host, decisions: host.decisions))
    }
}

extension HostDocument {
    fileprivate init(_ host: RemoteHost, decisions: [RemoteHost.Decision]?) {
        self.init(
            host: host.name,
            state: host.isClosed ? "closed" : "open",
            // An operator's limit applies at once; the next decision reports it.
            connections: host.isClosed
                ? nil : host.connections.map { min($0, host.maxConnections ?? $0) },
            maxConnections: host.maxConnections,
            changedAt: Timestamp(host.changedAt),
            decisions: decisions?.map { decision in
                Decision(
                    decidedAt: Timestamp(decision.decidedAt),
                    connectionsBefore: decision.before,
                    connectionsAfter: decision.after,
                    reason: decision.reason
                )
            }
        )
    }
}
