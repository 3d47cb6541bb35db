import Foundation
import HTTPTypes
import Hummingbird
import StandardWebhooks
import TransferModel
import TransferStore
import TransferWire

/// The routes of `/v1/subscriptions` and all paths beneath it.
struct SubscriptionRoutes: Sendable {
    let stores: APIStores
    /// The policy for addresses that a subscription may name.
    let egress: EgressPolicy
    let tell: @Sendable (Set<Signal>) -> Void

    func add(to router: APIRouter) {
        router.post("/v1/subscriptions", scope: .webhooks) { request, context in
            let body = try await request.jsonBody()
            return try await create(
                body,
                key: IdempotencyKey(request, body: body),
                tenant: context.requireTenant()
            )
        }
        router.get("/v1/subscriptions", scope: .read, hasQuery: true) { request, context in
            let query = try QueryParameters(request, allowed: ["limit", "cursor"])
            let tenant = try context.requireTenant()
            return try await RequestResources.listing { try await list(query, tenant: tenant) }
        }
        router.get("/v1/subscriptions/{id}", scope: .read) { _, context in
            try await get(context.subscriptionID(), tenant: context.requireTenant())
        }
        router.patch("/v1/subscriptions/{id}", scope: .webhooks) { request, context in
            try await change(
                request.jsonBody(),
                if: RevisionCondition(request.headers),
                id: context.subscriptionID(),
                tenant: context.requireTenant()
            )
        }
        router.delete("/v1/subscriptions/{id}", scope: .webhooks) { _, context in
            try await delete(context.subscriptionID(), tenant: context.requireTenant())
        }
        router.post("/v1/subscriptions/{id}/rotate-secret", scope: .webhooks) { request, context in
            let body = try await request.jsonBody()
            return try await rotateSecret(
                body,
                key: IdempotencyKey(request, body: body),
                id: context.subscriptionID(),
                tenant: context.requireTenant()
            )
        }
    }

    func create(
        _ body: [UInt8],
        key: IdempotencyKey?,
        tenant: TenantID
    ) async throws -> Answer {
        if let key, let answer = try await stores.idempotency.earlierAnswer(key, tenant: tenant) {
            return answer
        }
        let createdAt = Date.wholeMilliseconds(of: Date())
        let subscription = try await decoded(SubscriptionRequest.self, from: body).subscription(
            id: SubscriptionID(.version7(at: createdAt)),
            tenant: tenant,
            createdAt: createdAt,
            egress: egress
        )
        let secret = SigningSecret.random()
        let answer = try Answer.json(
            SubscriptionDocument(subscription, secret: secret),
            status: .created,
            location: APIPath.subscription(subscription.id)
        )
        let result = try await stores.subscriptions.createSubscription(
            subscription,
            secret: secret,
            idempotency: key?.record(of: answer)
        )
        switch result {
        case .created: return answer
        case .replay(let response): return try Answer(replaying: response)
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
        let subscriptions = try await stores.subscriptions.subscriptions(
            tenant: tenant,
            after: after,
            limit: limit
        )
        return try await .page(
            subscriptions,
            document: { SubscriptionDocument($0) },
            place: \.id,
            cursor: { .subscription($0) },
            name: \.description
        )
    }

    func get(_ id: SubscriptionID, tenant: TenantID) async throws -> Answer {
        let subscription = try await subscription(id, tenant: tenant)
        return try .json(SubscriptionDocument(subscription), revision: subscription.revision)
    }

    private func subscription(
        _ id: SubscriptionID,
        tenant: TenantID
    ) async throws -> Subscription {
        guard let subscription = try await stores.subscriptions.subscription(tenant: tenant, id: id)
        else {
            throw Problem(.unknownSubscription)
        }
        return subscription
    }

    func change(
        _ body: [UInt8],
        if condition: RevisionCondition,
        id: SubscriptionID,
        tenant: TenantID
    ) async throws -> Answer {
        let request = try await decoded(SubscriptionPatchRequest.self, from: body)
        for _ in 0..<Self.triesMax {
            let current = try await subscription(id, tenant: tenant)
            let change = try request.change(of: current.settings, egress: egress)
            guard condition.revisions?.contains(current.revision) ?? true else {
                throw Problem(.preconditionFailed)
            }
            // Its headers are sealed, so they are not merged in SQL: the change is made to this
            // revision or not at all.
            let result = try await stores.subscriptions.changeSubscription(
                tenant: tenant,
                id: id,
                change,
                if: .oneOf([current.revision])
            )
            switch result {
            case .changed(let subscription):
                tell([.deliveries])
                return try .json(
                    SubscriptionDocument(subscription),
                    revision: subscription.revision
                )
            case .conditionFailed: continue
            case .unknownSubscription: throw Problem(.unknownSubscription)
            }
        }
        throw Problem(.unavailable, "The subscription is being changed by too many at once.")
    }

    /// The maximum number of tries of a change that keeps conflicting with others.
    private static let triesMax = 20

    func rotateSecret(
        _ body: [UInt8],
        key: IdempotencyKey?,
        id: SubscriptionID,
        tenant: TenantID
    ) async throws -> Answer {
        if let key, let answer = try await stores.idempotency.earlierAnswer(key, tenant: tenant) {
            return answer
        }
        let request =
            try await body.isEmpty
            ? RotateSecretRequest() : decoded(RotateSecretRequest.self, from: body)
        let overlap = try request.overlap()
        var expiry: Date?
        if overlap > .zero {
            let now = try await stores.database.currentTime()
            expiry = .wholeMilliseconds(of: now + overlap / .seconds(1))
        }
        let secret = SigningSecret.random()
        let answer = try Answer.json(
            SigningSecretDocument(
                secret: secret.serialized,
                previousSecretsExpireAt: expiry.map(Timestamp.init)
            )
        )
        let result = try await stores.subscriptions.rotateSecret(
            tenant: tenant,
            id: id,
            to: secret,
            othersExpireAt: expiry,
            idempotency: key?.record(of: answer)
        )
        switch result {
        case .rotated: return answer
        case .unknownSubscription: throw Problem(.unknownSubscription)
        case .tooManySecrets:
            throw Problem(
                .tooManySecrets,
                "\(SigningSecret.livingMax) secrets sign already; `overlap_seconds` 0 ends them."
            )
        case .replay(let response): return try Answer(replaying: response)
        case .idempotencyMismatch: throw Problem(.idempotencyKeyReused)
        }
    }

    func delete(_ id: SubscriptionID, tenant: TenantID) async throws -> Answer {
        guard try await stores.subscriptions.deleteSubscription(tenant: tenant, id: id) else {
            throw Problem(.unknownSubscription)
        }
        return Answer(status: .noContent)
    }
}

extension Date {
    /// Returns `date` in whole milliseconds; the rest would be rounded differently here and in the
    /// database.
    fileprivate static func wholeMilliseconds(of date: Date) -> Date {
        Date(timeIntervalSince1970: (date.timeIntervalSince1970 * 1000).rounded(.down) / 1000)
    }
}
