import Foundation
import HTTPTypes
import Hummingbird
import TransferModel
import TransferStore
import TransferWire

/// `/v1/subscriptions` and `/v1/subscriptions/{id}`.
struct SubscriptionRoutes: Sendable {
    let store: TransferStore

    func add(to router: Router<APIContext>) {
        router.post("/v1/subscriptions") { request, context in
            let body = try await request.jsonBody()
            return try await create(
                body,
                key: IdempotencyKey(request, body: body),
                tenant: context.requireTenant()
            )
        }
        router.get("/v1/subscriptions") { request, context in
            let query = try QueryParameters(request, allowed: ["limit", "cursor"])
            return try await list(query, tenant: context.requireTenant())
        }
        router.get("/v1/subscriptions/{id}") { _, context in
            try await get(context.subscriptionID(), tenant: context.requireTenant())
        }
        router.delete("/v1/subscriptions/{id}") { _, context in
            try await delete(context.subscriptionID(), tenant: context.requireTenant())
        }
    }

    func create(
        _ body: [UInt8],
        key: IdempotencyKey?,
        tenant: TenantID
    ) async throws -> Answer {
        if let key, let answer = try await store.earlierAnswer(key, tenant: tenant) {
            return answer
        }
        // Whole milliseconds: finer ones are rounded here and in the database each in its own way.
        let milliseconds = (Date().timeIntervalSince1970 * 1000).rounded(.down)
        let createdAt = Date(timeIntervalSince1970: milliseconds / 1000)
        let subscription = try decoded(SubscriptionRequest.self, from: body).subscription(
            id: SubscriptionID(.version7(at: createdAt)),
            tenant: tenant,
            createdAt: createdAt
        )
        let secret = SigningSecret.random()
        let answer = try Answer.json(
            SubscriptionDocument(subscription, secret: secret),
            status: .created,
            location: APIPath.subscription(subscription.id)
        )
        let result = try await store.createSubscription(
            subscription,
            secret: secret,
            idempotency: key?.record(of: answer)
        )
        switch result {
        case .created: return answer
        case .replay(let response): return Answer(replaying: response)
        case .idempotencyMismatch: throw Problem(.idempotencyKeyReused)
        }
    }

    func list(_ query: QueryParameters, tenant: TenantID) async throws -> Answer {
        let limit = try query.limit()
        var after: SubscriptionID?
        if let cursor = try query.cursor() {
            guard case .subscription(let id) = cursor else { throw QueryParameters.foreignCursor }
            after = id
        }
        let subscriptions = try await store.subscriptions(
            tenant: tenant,
            after: after,
            limit: limit + 1
        )
        return try .json(
            Page(subscriptions, limit: limit, document: { SubscriptionDocument($0) }) {
                .subscription($0.id)
            }
        )
    }

    func get(_ id: SubscriptionID, tenant: TenantID) async throws -> Answer {
        guard let subscription = try await store.subscription(tenant: tenant, id: id) else {
            throw Problem(.unknownSubscription)
        }
        return try .json(SubscriptionDocument(subscription))
    }

    func delete(_ id: SubscriptionID, tenant: TenantID) async throws -> Answer {
        guard try await store.deleteSubscription(tenant: tenant, id: id) else {
            throw Problem(.unknownSubscription)
        }
        return Answer(status: .noContent)
    }
}

extension SubscriptionDocument {
    fileprivate init(_ subscription: Subscription, secret: SigningSecret? = nil) {
        self.init(
            id: subscription.id.description,
            url: subscription.url,
            sessionIdentifier: subscription.sessionIdentifier,
            eventTypes: subscription.kinds?.map(\.rawValue),
            createdAt: Timestamp(subscription.createdAt),
            secret: secret?.serialized
        )
    }
}
