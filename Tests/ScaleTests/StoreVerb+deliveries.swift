import Foundation
import StandardWebhooks
import TransferModel
import TransferStore
import TransferTestSupport

extension StoreVerb {
    private static func claimed(
        _ stores: Stores,
        _ world: ScaleWorld,
        _ limit: Int = 1
    ) async throws -> [DeliveryClaim] {
        try await stores.deliveries.claimDeliveries(
            world.worker.reserve(limit),
            limit: limit,
            lease: .seconds(60)
        ).claims
    }

    /// Claims a replay of the first delivery.
    private static func replay(
        _ stores: Stores,
        _ world: ScaleWorld
    ) async throws -> ReplayClaim? {
        let id = world.delivery(0)
        let delivery = try await stores.deliveryLog.replay(tenant: world.tenant, id: id)
        guard let delivery else { return nil }
        return try await stores.deliveryLog.claimReplays(
            of: delivery.subscription,
            world.worker.reserve(1),
            limit: 1,
            lease: .seconds(60)
        ).claims.first
    }

    private static func attempt(_ status: Int) -> DeliveryAttempt {
        DeliveryAttempt(
            at: Date(),
            duration: .milliseconds(7),
            status: status,
            reason: status == 200 ? nil : "http_status",
            answer: nil,
            isReplay: false
        )
    }

    private static func delivery(
        _ name: String,
        pages: Int64 = 400,
        _ body: @escaping @Sendable (Stores, DeliveryClaim) async throws -> Void
    ) -> StoreVerb {
        StoreVerb(name, pages: pages) { stores, world in
            guard let claim = try await claimed(stores, world).first else { return 0 }
            try await body(stores, claim)
            return 2
        }
    }

    private static func logged(_ state: LoggedDelivery.State?) -> StoreVerb {
        StoreVerb("deliveries(\(state?.rawValue ?? "all"))", pages: 1050) { stores, world in
            try await stores.deliveryLog.deliveries(
                tenant: world.tenant,
                subscription: world.subscription(1),
                state: state,
                before: nil,
                limit: page
            )?.count ?? 0
        }
    }

    static let deliveries: [StoreVerb] = [
        StoreVerb("areAnyDue") { stores, _ in try await stores.deliveries.areAnyDue() ? 1 : 0 },
        StoreVerb("claimDeliveries") { stores, world in
            try await claimed(stores, world, page).count
        },
        delivery("recordDelivered") {
            _ = try await $0.deliveries.recordDelivered(
                $1,
                through: 1,
                status: 200,
                lease: .seconds(60)
            )
        },
        delivery("standing") { _ = try await $0.deliveries.standing(of: $1) },
        delivery("passUnasked") { _ = try await $0.deliveries.passUnasked([$1]) },
        delivery("recordExpired") {
            _ = try await $0.deliveries.recordExpired($1, lease: .seconds(60))
        },
        delivery("postpone") { try await $0.deliveries.postpone([($1, .seconds(60))]) },
        delivery("recall") {
            try await $0.deliveries.postpone([($1, .seconds(60))])
            try await $0.deliveries.recall([$1])
        },
        delivery("releaseDelivery") { _ = try await $0.deliveries.releaseDelivery($1) },
        delivery("recordDeliveryFailed") {
            _ = try await $0.deliveries.recordDeliveryFailed(
                $1,
                sequence: $1.acknowledgedSequence + 1,
                DeliverySetback(attempt: attempt(500), retryAfter: .seconds(7))
            )
        },
        delivery("recordAwaitingAck") {
            _ = try await $0.wakeUps.recordAwaitingAck(
                $1,
                sequence: $1.acknowledgedSequence + 1,
                attempt: attempt(202),
                timeout: .seconds(60)
            )
        },
        delivery("admitWakeUp") { stores, claim in
            let events = try await stores.events.events(of: claim.session, after: 0, limit: 1)
            guard let event = events.first else { return }
            _ = try await stores.wakeUps.admitWakeUp(claim, event)
        },
        StoreVerb("acknowledge") { stores, world in
            let token = AckToken(
                session: world.session(1),
                sequence: Int64(2 * world.generation + 1),
                proof: Array(repeating: 0, count: AckToken.proofBytes)
            )
            _ = try await stores.wakeUps.acknowledge(
                token,
                tenant: world.tenant,
                sessionIdentifier: ScaleWorld.kept
            )
            return 1
        },
        logged(nil), logged(.delivered), logged(.dead), logged(.waiting), logged(.expired),
        StoreVerb("delivery") { stores, world in
            _ = try await stores.deliveryLog.delivery(tenant: world.tenant, id: world.delivery(7))
            return 1
        },
        StoreVerb("deadLetterCount") { stores, world in
            _ = try await stores.wakeUps.deadLetterCount(
                of: world.subscription(7),
                session: world.session(7),
                generation: 1,
                before: 100
            )
            return 1
        },
        StoreVerb("replay") { stores, world in
            _ = try await stores.deliveryLog.replay(tenant: world.tenant, id: world.delivery(0))
            return 2
        },
        // The dead deliveries of a subscription are searched for those of a period.
        StoreVerb("recover", pages: 1000) { stores, world in
            try await stores.deliveryLog.recover(
                tenant: world.tenant,
                subscription: world.subscription(1),
                since: .distantPast,
                until: nil
            ) ?? 0
        },
        StoreVerb("areAnyReplaysDue") { stores, _ in
            try await stores.deliveryLog.areAnyReplaysDue() ? 1 : 0
        },
        StoreVerb("replayTurns") { stores, world in
            _ = try await stores.deliveryLog.replay(tenant: world.tenant, id: world.delivery(0))
            return try await stores.deliveryLog.replayTurns(after: nil, limit: page).turns.count
        },
        StoreVerb("claimReplays") { stores, world in
            let id = world.delivery(0)
            let delivery = try await stores.deliveryLog.replay(tenant: world.tenant, id: id)
            guard let delivery else { return 0 }
            return try await stores.deliveryLog.claimReplays(
                of: delivery.subscription,
                world.worker.reserve(page),
                limit: page,
                lease: .seconds(60)
            ).claims.count * 3
        },
        StoreVerb("returnReplays") { stores, world in
            let id = world.delivery(0)
            let delivery = try await stores.deliveryLog.replay(tenant: world.tenant, id: id)
            guard let delivery else { return 0 }
            let claims = try await stores.deliveryLog.claimReplays(
                of: delivery.subscription,
                world.worker.reserve(page),
                limit: page,
                lease: .seconds(60)
            ).claims
            try await stores.deliveryLog.returnReplays(claims)
            return claims.count * 4
        },
        StoreVerb("renewReplay") { stores, world in
            guard let claim = try await replay(stores, world) else { return 0 }
            let isRenewed = try await stores.deliveryLog.renewReplay(claim, lease: .seconds(60))
            return isRenewed ? 4 : 0
        },
        StoreVerb("recordReplayed") { stores, world in
            guard let claim = try await replay(stores, world) else { return 0 }
            _ = try await stores.deliveryLog.recordReplayed(claim, attempt(200))
            return 4
        },
        StoreVerb("cancelReplays") { stores, world in
            try await stores.deliveryLog.cancelReplays(of: world.subscription(1))
        },
        // The tenant's subscriptions are counted up to its quota.
        StoreVerb("createSubscription", pages: 60_000) { stores, world in
            let subscription = Subscription(
                id: SubscriptionID(.version7()),
                tenant: world.tenant,
                sessionIdentifier: nil,
                settings: SubscriptionSettings(url: "https://hook.test/"),
                createdAt: Date()
            )
            _ = try await stores.subscriptions.createSubscription(subscription, secret: .random())
            return 1
        },
        StoreVerb("changeSubscription") { stores, world in
            var change = SubscriptionChange()
            change.url = "https://other.test/"
            _ = try await stores.subscriptions.changeSubscription(
                tenant: world.tenant,
                id: world.subscription(7),
                change
            )
            return 1
        },
        // The tenant's subscription has a delivery of each session: two pages are examined.
        StoreVerb("continueRestarts", pages: 5000) { stores, world in
            var change = SubscriptionChange()
            change.url = "https://other.test/"
            _ = try await stores.subscriptions.changeSubscription(
                tenant: world.tenant,
                id: world.subscription(0),
                change
            )
            return try await stores.deliveries.continueRestarts()
        },
        StoreVerb("deleteSubscription") { stores, world in
            _ = try await stores.subscriptions.deleteSubscription(
                tenant: world.tenant,
                id: world.subscription(7)
            )
            return 1
        },
        StoreVerb("rotateSecret") { stores, world in
            _ = try await stores.subscriptions.rotateSecret(
                tenant: world.tenant,
                id: world.subscription(7),
                to: .random(),
                othersExpireAt: nil
            )
            return 1
        },
    ]
}
