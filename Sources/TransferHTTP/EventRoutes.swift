import Foundation
import Hummingbird
import TransferModel
import TransferStore
import TransferWebhooks
import TransferWire

/// `/v1/sessions/{identifier}/events`, and `/v1/events` for what happened in no session.
struct EventRoutes: Sendable {
    let store: TransferStore
    /// Tells that deliveries may have become due.
    let wake: @Sendable () -> Void
    /// Put before links; nil when the service does not know its own address.
    let linkBase: String?

    func add(to router: Router<APIContext>) {
        router.get("/v1/sessions/{identifier}/events") { request, context in
            let query = try QueryParameters(request, allowed: ["after", "limit"])
            return try await list(
                query,
                identifier: context.sessionIdentifier(),
                tenant: context.requireTenant()
            )
        }
        router.post("/v1/sessions/{identifier}/events/ack") { request, context in
            try await acknowledge(
                request.jsonBody(),
                identifier: context.sessionIdentifier(),
                tenant: context.requireTenant()
            )
        }
        router.get("/v1/events") { request, context in
            let query = try QueryParameters(request, allowed: ["after", "limit"])
            return try await list(query, tenant: context.requireTenant())
        }
    }

    func list(
        _ query: QueryParameters,
        identifier: String,
        tenant: TenantID
    ) async throws -> Answer {
        let after = try query.integer("after") ?? 0
        let events = try await store.events(
            tenant: tenant,
            sessionIdentifier: identifier,
            after: after,
            limit: query.limit()
        )
        guard let events else { throw Problem(.unknownSession) }
        return try page(events, after: after)
    }

    func acknowledge(
        _ body: [UInt8],
        identifier: String,
        tenant: TenantID
    ) async throws -> Answer {
        let request = try decoded(AckRequest.self, from: body)
        if let token = AckToken(serialized: request.ackToken),
            try await store.acknowledge(token, tenant: tenant, sessionIdentifier: identifier)
        {
            wake()
            return Answer(status: .noContent)
        }
        guard try await store.session(tenant: tenant, identifier: identifier) != nil else {
            throw Problem(.unknownSession)
        }
        throw Problem(.staleAckToken, "No message waits for this token, or no longer.")
    }

    func list(_ query: QueryParameters, tenant: TenantID) async throws -> Answer {
        let after = try query.integer("after") ?? 0
        let events = try await store.events(
            ofTenant: tenant,
            after: after,
            limit: query.limit()
        )
        return try page(events, after: after)
    }

    private func page(_ events: [SessionEvent], after: Int64) throws -> Answer {
        try .json(
            EventPage(
                items: events.map { EventMessage($0, linkBase: linkBase) },
                next: events.last?.sequence ?? after
            )
        )
    }
}
