import StandardWebhooks
import TransferTestSupport
import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore

extension StoreFixture {
    @discardableResult
    func subscribe(
        client: ClientID? = nil,
        session: String? = nil,
        filter: EventFilter? = nil
    ) async throws -> SubscriptionID {
        let subscription = Subscription(
            id: SubscriptionID(.version7()),
            tenant: tenant,
            client: client,
            sessionIdentifier: session,
            settings: SubscriptionSettings(url: "https://hook.test/", filter: filter),
            createdAt: Date()
        )
        _ = try await stores.subscriptions.createSubscription(subscription, secret: .random())
        return subscription.id
    }

    /// Records a failed try to deliver the claim's next message.
    func fail(
        _ claim: DeliveryClaim,
        retryAfter: Duration? = .zero,
        throttle: Duration? = nil,
        isGone: Bool = false,
        isReceiversFault: Bool = true,
        health: DeliveryHealth = DeliveryHealth(),
        notAfter latest: Date? = nil
    ) async throws -> SetbackResult {
        try await stores.deliveries.recordDeliveryFailed(
            claim,
            sequence: claim.acknowledgedSequence + 1,
            DeliverySetback(
                attempt: Self.attempt(status: 500, reason: "http_status"),
                retryAfter: retryAfter,
                throttle: throttle,
                isGone: isGone,
                isReceiversFault: isReceiversFault
            ),
            health: health,
            notAfter: latest
        )
    }

    static func attempt(status: Int?, reason: String?, isReplay: Bool = false) -> DeliveryAttempt {
        DeliveryAttempt(
            at: Date(timeIntervalSince1970: 1_772_366_400),
            duration: .milliseconds(7),
            status: status,
            reason: reason,
            answer: "no",
            isReplay: isReplay
        )
    }

    /// Records that a claim's events up to `sequence` were delivered.
    func record(_ claim: DeliveryClaim, _ sequence: Int64) async throws -> ClaimStanding {
        try await stores.deliveries.recordDelivered(
            claim,
            through: sequence,
            status: 204,
            lease: .seconds(600)
        )
    }

    /// Ends all waits of deliveries, but not the pauses of their subscriptions.
    func makeDeliveriesDue() async throws {
        _ = try await aside.execute("UPDATE delivery SET due_at = now() WHERE due_at IS NOT NULL")
    }

    func claimDeliveries(
        _ limit: Int = 100,
        lease: Duration = .seconds(600)
    ) async throws -> [DeliveryClaim] {
        let areDue = try await stores.deliveries.areAnyDue()
        let due = try await stores.deliveries.claimDeliveries(
            worker.reserve(limit),
            limit: limit,
            lease: lease
        )
        #expect(areDue || due.examined == 0)
        return due.claims
    }
}
