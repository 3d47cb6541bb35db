import Foundation
import HTTPTypes
import Hummingbird
import TransferModel
import TransferStore
import TransferWire

/// The routes for the outcome of webhooks: `/v1/deliveries/{id}`, and those of a subscription that
/// test, list and recover.
struct DeliveryRoutes: Sendable {
    let stores: APIStores
    /// A function that sends a test message to a subscription's endpoint.
    let sendTest: @Sendable (SubscriptionID, Endpoint, TenantID) async -> DeliveryAttempt
    let tell: @Sendable (Set<Signal>) -> Void
    private let tests = TestSlots()

    func add(to router: APIRouter) {
        router.post("/v1/subscriptions/{id}/test", scope: .webhooks) { _, context in
            try await test(context.subscriptionID(), tenant: context.requireTenant())
        }
        router.get(
            "/v1/subscriptions/{id}/deliveries",
            scope: .read,
            hasQuery: true
        ) { request, context in
            let query = try QueryParameters(request, allowed: ["state", "limit", "cursor"])
            let subscription = try context.subscriptionID()
            let tenant = try context.requireTenant()
            return try await RequestResources.listing {
                try await list(query, of: subscription, tenant: tenant)
            }
        }
        router.post("/v1/subscriptions/{id}/recover", scope: .webhooks) { request, context in
            try await recover(
                request.jsonBody(),
                of: context.subscriptionID(),
                tenant: context.requireTenant()
            )
        }
        router.get("/v1/deliveries/{id}", scope: .read) { _, context in
            try await get(context.deliveryID(), tenant: context.requireTenant())
        }
        router.post("/v1/deliveries/{id}/replay", scope: .webhooks) { _, context in
            try await replay(context.deliveryID(), tenant: context.requireTenant())
        }
    }

    func test(_ id: SubscriptionID, tenant: TenantID) async throws -> Answer {
        guard let endpoint = try await stores.deliveryLog.endpoint(tenant: tenant, subscription: id)
        else {
            throw Problem(.unknownSubscription)
        }
        try tests.take(for: tenant)
        defer { tests.giveBack(for: tenant) }
        let attempt = await sendTest(id, endpoint, tenant)
        return try .json(DeliveryAttemptDocument(attempt, replay: nil))
    }

    func list(
        _ query: QueryParameters,
        of subscription: SubscriptionID,
        tenant: TenantID
    ) async throws -> Answer {
        let limit = try query.limit()
        var before: DeliveryID?
        if let cursor = try query.cursor() {
            guard case .delivery(let id) = cursor else { throw QueryParameters.foreignCursor }
            before = id
        }
        let deliveries = try await stores.deliveryLog.deliveries(
            tenant: tenant,
            subscription: subscription,
            state: try state(query),
            before: before,
            limit: limit
        )
        guard let deliveries else { throw Problem(.unknownSubscription) }
        return try await .page(
            deliveries,
            document: { DeliveryDocument($0) },
            place: \.id,
            cursor: { .delivery($0) },
            name: \.description
        )
    }

    private func state(_ query: QueryParameters) throws(Problem) -> LoggedDelivery.State? {
        guard let word = query["state"] else { return nil }
        guard let state = LoggedDelivery.State(word: word) else {
            let known = LoggedDelivery.State.allCases.map { "`\($0.rawValue)`" }
            throw QueryParameters.invalid(
                "state",
                "Must be one of \(known.joined(separator: ", "))."
            )
        }
        return state
    }

    func recover(
        _ body: [UInt8],
        of subscription: SubscriptionID,
        tenant: TenantID
    ) async throws -> Answer {
        let request = try await decoded(RecoverRequest.self, from: body)
        if let until = request.until, until.date <= request.since.date {
            throw Problem([FieldError(pointer: "/until", .invalidDate, "Must be after `since`.")])
        }
        let count = try await stores.deliveryLog.recover(
            tenant: tenant,
            subscription: subscription,
            since: request.since.date,
            until: request.until?.date
        )
        guard let count else { throw Problem(.unknownSubscription) }
        tell([.replays])
        return try .json(RecoverDocument(replays: count), status: .accepted)
    }

    func get(_ id: DeliveryID, tenant: TenantID) async throws -> Answer {
        guard let delivery = try await stores.deliveryLog.delivery(tenant: tenant, id: id) else {
            throw Problem(.unknownDelivery)
        }
        return try .json(DeliveryDocument(delivery))
    }

    func replay(_ id: DeliveryID, tenant: TenantID) async throws -> Answer {
        guard let delivery = try await stores.deliveryLog.replay(tenant: tenant, id: id) else {
            throw Problem(.unknownDelivery)
        }
        tell([.replays])
        return try .json(
            DeliveryDocument(delivery),
            status: .accepted,
            location: APIPath.delivery(id)
        )
    }
}

extension DeliveryDocument {
    fileprivate init(_ delivery: LoggedDelivery) {
        self.init(
            id: delivery.id.description,
            subscriptionID: delivery.subscription.description,
            eventID: (delivery.batch?.id ?? delivery.event)?.text,
            eventType: delivery.batch == nil ? delivery.kind?.rawValue : MessageBatch.type,
            client: delivery.client?.name,
            sessionIdentifier: delivery.sessionIdentifier,
            sequence: delivery.sequence,
            firstSequence: delivery.batch?.first ?? delivery.firstExpired,
            eventCount: delivery.batch?.count
                ?? delivery.firstExpired.map { Int(delivery.sequence - $0 + 1) },
            state: delivery.state.rawValue,
            diedAt: delivery.diedAt.map(Timestamp.init),
            nextAttemptAt: delivery.nextAttemptAt.map(Timestamp.init),
            attempts: delivery.attempts.map { DeliveryAttemptDocument($0, replay: $0.isReplay) }
        )
    }
}

extension DeliveryAttemptDocument {
    fileprivate init(_ attempt: DeliveryAttempt, replay: Bool?) {
        self.init(
            attemptedAt: Timestamp(attempt.at),
            durationMS: Int64(attempt.duration / .milliseconds(1)),
            status: attempt.status,
            reason: attempt.reason,
            answer: attempt.answer,
            replay: replay
        )
    }
}
