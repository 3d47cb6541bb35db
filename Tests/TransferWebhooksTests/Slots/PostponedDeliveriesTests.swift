import Foundation
import StandardWebhooks
import Testing
import TransferModel

@testable import TransferWebhooks

@Suite struct PostponedDeliveriesTests {
    private let start = ContinuousClock.now
    private let tenant = TenantID(UUID())
    private let subscription = SubscriptionID(UUID())

    private func claim(_ number: Int64, of subscription: SubscriptionID? = nil) -> DeliveryClaim {
        DeliveryClaim(
            subscription: subscription ?? self.subscription,
            tenant: tenant,
            session: SessionID(UUID()),
            fence: Fence(rawValue: number),
            acknowledgedSequence: number,
            attempt: 0,
            endpoint: Endpoint(url: "", secrets: [.random()], ackKey: [])
        )
    }

    private func postponed(_ own: Int, _ total: Int = 64) -> PostponedDeliveries {
        var bounds = DeliveryBounds()
        bounds.postponedMax = own
        bounds.postponedTotalMax = total
        return PostponedDeliveries(bounds)
    }

    private func count(_ postponed: PostponedDeliveries, _ ids: [SubscriptionID]) -> Int {
        var rest = postponed
        return ids.reduce(0) { $0 + rest.take(100, of: $1, at: start).claims.count }
    }

    @Test func thoseThatWouldReturnNextComeFirst() {
        var postponed = postponed(8)
        for number in 1...5 {
            postponed.add(claim(Int64(number)), until: start + .seconds(number))
        }
        // The first has returned by itself.
        let next = postponed.take(3, of: subscription, at: start + .seconds(1))
        #expect(next.claims.map(\.acknowledgedSequence) == [2, 3, 4])
        #expect(next.hasMore)
        let rest = postponed.take(3, of: subscription, at: start + .seconds(1))
        #expect(rest.claims.map(\.acknowledgedSequence) == [5])
        #expect(!rest.hasMore)
    }

    @Test func noMoreAreRememberedThanThereArePlaces() {
        var postponed = postponed(4, 8)
        for number in 1...6 {
            postponed.add(claim(Int64(number)), until: start + .seconds(1))
        }
        #expect(count(postponed, [subscription]) == 4)
        let others = (0..<20).map { _ in SubscriptionID(UUID()) }
        for other in others {
            postponed.add(claim(1, of: other), until: start + .seconds(1))
        }
        #expect(count(postponed, [subscription] + others) == 8)
        // The places of those that have returned are free.
        postponed.sweep(at: start + .seconds(2))
        for other in others {
            postponed.add(claim(7, of: other), until: start + .seconds(60))
        }
        #expect(count(postponed, [subscription] + others) == 8)
    }

    @Test func whatIsAskedForIsTakenOnce() {
        var postponed = postponed(4)
        postponed.request(subscription)
        postponed.request(subscription)
        #expect(postponed.takeRequested() == [subscription])
        #expect(postponed.takeRequested().isEmpty)
    }

    @Test func subscriptionsAreToldInTheOrderOfTheirReturns() {
        var postponed = postponed(4)
        let other = SubscriptionID(UUID())
        postponed.add(claim(1, of: other), until: start + .seconds(9))
        postponed.add(claim(2), until: start + .seconds(5))
        #expect(postponed.next(at: start).map(\.subscription) == [subscription, other])
        #expect(postponed.next(at: start + .seconds(5)).map(\.subscription) == [other])
    }

    /// Others had the slots, and nothing of its own subscription will end.
    @Test func aLonePairIsAskedForWhenASlotIsFree() {
        var bounds = DeliveryBounds()
        bounds.pairsMax = 1
        bounds.quickMax = .seconds(3600)
        bounds.postponementMin = .seconds(900)
        var state = WebhookDispatcher.State(
            slots: DeliverySlots(bounds: bounds),
            postponed: PostponedDeliveries(bounds)
        )
        let other = SubscriptionID(UUID())
        let soon = start + .seconds(1)
        var admissions: [DeliverySlots<HeldDelivery>.Admission] = []
        for id in [other, subscription] {
            let held = HeldDelivery(claim(1, of: id), until: soon, at: start)
            let admission = state.slots.admit(
                held,
                of: id,
                tenant: tenant,
                until: soon,
                at: start
            )
            admissions.append(admission)
        }
        #expect(admissions == [.start, .wait])
        for (held, wait) in state.slots.takeExpired(at: soon) {
            state.postponed.add(held.claim, until: soon + wait)
        }
        state.requestStartable(at: soon)
        #expect(state.postponed.takeRequested().isEmpty)
        state.slots.ended(other, at: soon)
        state.requestStartable(at: soon)
        #expect(state.postponed.takeRequested() == [subscription])
    }
}
