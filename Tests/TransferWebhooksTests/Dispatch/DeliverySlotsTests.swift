import Foundation
import Testing
import TransferModel

@testable import TransferWebhooks

@Suite struct DeliverySlotsTests {
    private let start = ContinuousClock.now
    private let tenant = TenantID(UUID())
    private let dead = SubscriptionID(UUID())
    private let living = SubscriptionID(UUID())

    private func slots(
        pairs: Int = 16,
        perSubscription: Int = 2,
        waiting: Int = 3,
        waitingTotal: Int = 4
    ) -> DeliverySlots<Int> {
        var bounds = DeliveryBounds()
        bounds.pairsMax = pairs
        bounds.perSubscriptionMax = perSubscription
        bounds.waitingMax = waiting
        bounds.waitingTotalMax = waitingTotal
        return DeliverySlots(bounds: bounds)
    }

    private var later: ContinuousClock.Instant { start + .seconds(60) }

    /// Claims one pair of each of several subscriptions of a tenant, about which nothing is known.
    private func flood(
        _ slots: inout DeliverySlots<Int>,
        _ count: Int,
        of tenant: TenantID
    ) -> [SubscriptionID] {
        (0..<count).compactMap { number in
            let id = SubscriptionID(UUID())
            return slots.admit(number, of: id, tenant: tenant, until: later) == .start ? id : nil
        }
    }

    @Test func givesOneSubscriptionOnlyItsShare() {
        var slots = slots()
        let admissions = (0..<6).map {
            slots.admit($0, of: dead, tenant: tenant, until: later)
        }
        #expect(admissions == [.start, .start, .wait, .wait, .wait, .drop])
        #expect(slots.admit(10, of: living, tenant: tenant, until: later) == .start)
    }

    @Test func boundsWhatWaitsOfAllSubscriptions() {
        var slots = slots()
        for number in 0..<5 { _ = slots.admit(number, of: dead, tenant: tenant, until: later) }
        let admissions = (0..<4).map {
            slots.admit($0, of: living, tenant: tenant, until: later)
        }
        #expect(admissions == [.start, .start, .wait, .drop])
        // Waiting pairs of one tenant take no place from another's.
        let other = TenantID(UUID())
        let others = (0..<3).map {
            slots.admit($0, of: SubscriptionID(UUID()), tenant: other, concurrency: 0, until: later)
        }
        #expect(others.first == .wait)
    }

    @Test func startsNoMorePairsThanItMay() {
        var slots = slots(pairs: 1)
        #expect(slots.admit(0, of: dead, tenant: tenant, until: later) == .start)
        #expect(slots.admit(1, of: living, tenant: tenant, until: later) == .wait)
        #expect(slots.runningCount == 1)
    }

    @Test func handsASlotToTheNextOfTheSameSubscription() {
        var slots = slots()
        for number in 0..<4 { _ = slots.admit(number, of: dead, tenant: tenant, until: later) }
        #expect(slots.next(at: start) == nil)
        slots.ended(dead)
        #expect(slots.next(at: start) == 2)
        slots.ended(dead)
        #expect(slots.next(at: start) == 3)
        #expect(slots.runningCount == 2)
        slots.ended(dead)
        slots.ended(dead)
        #expect(slots.next(at: start) == nil)
        #expect(slots.runningCount == 0)
    }

    @Test func subscriptionsTakeTurns() {
        var slots = slots(pairs: 1, perSubscription: 1)
        _ = slots.admit(0, of: dead, tenant: tenant, until: later)
        for number in 1...2 { _ = slots.admit(number, of: dead, tenant: tenant, until: later) }
        for number in 3...4 { _ = slots.admit(number, of: living, tenant: tenant, until: later) }
        var order: [Int] = []
        var last = dead
        for _ in 0..<4 {
            slots.ended(last)
            guard let next = slots.next(at: start) else { break }
            order.append(next)
            last = next > 2 ? living : dead
        }
        #expect(order == [1, 3, 2, 4])
    }

    @Test func forgetsWhatHasWaitedTooLong() {
        var slots = slots()
        for number in 0..<4 { _ = slots.admit(number, of: dead, tenant: tenant, until: start) }
        _ = slots.admit(4, of: dead, tenant: tenant, until: later)
        slots.ended(dead)
        #expect(slots.next(at: start) == 4)
        // The places of the forgotten ones are free again.
        let admissions = (5..<9).map {
            slots.admit($0, of: dead, tenant: tenant, until: later)
        }
        #expect(admissions == [.wait, .wait, .wait, .drop])
    }

    @Test func startsNothingOnceDraining() {
        var slots = slots()
        for number in 0..<4 { _ = slots.admit(number, of: dead, tenant: tenant, until: later) }
        #expect(slots.drain().sorted() == [2, 3])
        #expect(slots.freeCount == 0)
        #expect(slots.admit(9, of: living, tenant: tenant, until: later) == .drop)
        slots.ended(dead)
        #expect(slots.next(at: start) == nil)
        #expect(slots.runningCount == 1)
    }

    @Test func twoHundredSilentReceiversLeaveSlotsForOtherTenants() {
        var slots = DeliverySlots<Int>(bounds: DeliveryBounds())
        #expect(flood(&slots, 200, of: tenant).count == 96)
        // None of them ends, and any other pair is served at once.
        for _ in 0..<8 {
            let other = SubscriptionID(UUID())
            let admission = slots.admit(1, of: other, tenant: TenantID(UUID()), until: later)
            #expect(admission == .start)
            #expect(slots.freeCount > 0)
        }
    }

    /// Each pair is its tenant's first, and would get a slot whatever the others have.
    @Test func aSilentHostOfManyTenantsLeavesSlotsForOtherHosts() {
        var slots = DeliverySlots<Int>(bounds: DeliveryBounds())
        var started = 0
        for number in 0..<400 {
            let admission = slots.admit(
                number,
                of: SubscriptionID(UUID()),
                tenant: TenantID(UUID()),
                host: "silent.example",
                until: later
            )
            if admission == .start { started += 1 }
        }
        #expect(started == 96)
        for number in 0..<6 {
            let admission = slots.admit(
                1,
                of: SubscriptionID(UUID()),
                tenant: TenantID(UUID()),
                host: "\(number).example",
                until: later
            )
            #expect(admission == .start)
        }
    }

    @Test func whatEndsOfAHostIsFreeForIt() {
        var slots = slots(pairs: 2, perSubscription: 4, waiting: 8)
        let admissions = (0..<4).map {
            slots.admit($0, of: dead, tenant: tenant, host: "a", until: later)
        }
        #expect(admissions == [.start, .wait, .wait, .wait])
        // It has answered in time, which leaves it a larger part.
        slots.took(.zero, dead)
        #expect(slots.next(at: start) == 1)
        #expect(slots.next(at: start) == nil)
        slots.ended(dead)
        #expect(slots.next(at: start) == 2)
    }

    @Test func aReceiverThatWasQuickDoesNotWaitForSilentOnesOfItsTenant() {
        var slots = DeliverySlots<Int>(bounds: DeliveryBounds())
        slots.took(.milliseconds(20), living)
        _ = flood(&slots, 200, of: tenant)
        #expect(slots.admit(1, of: living, tenant: tenant, until: later) == .start)
    }

    @Test func slowReceiversShareAPart() {
        var slots = DeliverySlots<Int>(bounds: DeliveryBounds())
        let first = flood(&slots, 200, of: tenant)
        // They have answered late, and are due again.
        for id in first { slots.took(.seconds(14), id) }
        for id in first { slots.ended(id) }
        var ids: [SubscriptionID] = []
        for id in first where slots.admit(0, of: id, tenant: tenant, until: later) == .start {
            ids.append(id)
        }
        #expect(ids.count == 32)
        // Each subscription that answers in time from now on leaves that part.
        for id in ids { slots.took(.milliseconds(1), id) }
        var more = 0
        while slots.next(at: start) != nil { more += 1 }
        #expect(more > 0)
    }
}
