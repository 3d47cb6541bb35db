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
            let admission = slots.admit(number, of: id, tenant: tenant, until: later, at: start)
            return admission == .start ? id : nil
        }
    }

    @Test func givesOneSubscriptionOnlyItsShare() {
        var slots = slots()
        let admissions = (0..<6).map {
            slots.admit($0, of: dead, tenant: tenant, until: later, at: start)
        }
        #expect(admissions == [.start, .start, .wait, .wait, .wait, .postpone(.seconds(1))])
        #expect(slots.admit(10, of: living, tenant: tenant, until: later, at: start) == .start)
    }

    @Test func boundsWhatWaitsOfAllSubscriptions() {
        var slots = slots()
        for number in 0..<5 {
            _ = slots.admit(number, of: dead, tenant: tenant, until: later, at: start)
        }
        let admissions = (0..<4).map {
            slots.admit($0, of: living, tenant: tenant, until: later, at: start)
        }
        #expect(admissions == [.start, .start, .wait, .postpone(.seconds(1))])
        // Waiting pairs of one tenant take no place from another's.
        let other = TenantID(UUID())
        let others = (0..<3).map {
            slots.admit(
                $0,
                of: SubscriptionID(UUID()),
                tenant: other,
                concurrency: 0,
                until: later,
                at: start
            )
        }
        #expect(others.first == .wait)
    }

    @Test func startsNoMorePairsThanItMay() {
        var slots = slots(pairs: 1)
        #expect(slots.admit(0, of: dead, tenant: tenant, until: later, at: start) == .start)
        #expect(slots.admit(1, of: living, tenant: tenant, until: later, at: start) == .wait)
        #expect(slots.runningCount == 1)
    }

    @Test func handsASlotToTheNextOfTheSameSubscription() {
        var slots = slots()
        for number in 0..<4 {
            _ = slots.admit(number, of: dead, tenant: tenant, until: later, at: start)
        }
        #expect(slots.next(at: start) == nil)
        slots.ended(dead, at: start)
        #expect(slots.next(at: start) == 2)
        slots.ended(dead, at: start)
        #expect(slots.next(at: start) == 3)
        #expect(slots.runningCount == 2)
        slots.ended(dead, at: start)
        slots.ended(dead, at: start)
        #expect(slots.next(at: start) == nil)
        #expect(slots.runningCount == 0)
    }

    @Test func subscriptionsTakeTurns() {
        var slots = slots(pairs: 1, perSubscription: 1)
        _ = slots.admit(0, of: dead, tenant: tenant, until: later, at: start)
        for number in 1...2 {
            _ = slots.admit(number, of: dead, tenant: tenant, until: later, at: start)
        }
        for number in 3...4 {
            _ = slots.admit(number, of: living, tenant: tenant, until: later, at: start)
        }
        var order: [Int] = []
        var last = dead
        for _ in 0..<4 {
            slots.ended(last, at: start)
            guard let next = slots.next(at: start) else { break }
            order.append(next)
            last = next > 2 ? living : dead
        }
        #expect(order == [1, 3, 2, 4])
    }

    @Test func forgetsWhatHasWaitedTooLong() {
        var slots = slots()
        let soon = start + .seconds(1)
        for number in 0..<4 {
            _ = slots.admit(number, of: dead, tenant: tenant, until: soon, at: start)
        }
        _ = slots.admit(4, of: dead, tenant: tenant, until: later, at: start)
        let end = start + .seconds(2)
        slots.ended(dead, at: end)
        #expect(slots.next(at: end) == 4)
        let expired = slots.takeExpired(at: end)
        #expect(expired.map(\.claim) == [2, 3])
        // They return one after another, as slots become free.
        #expect(expired.map(\.wait) == [.seconds(1), .seconds(3)])
        #expect(slots.takeExpired(at: end).isEmpty)
        // The places of the forgotten ones are free again.
        let admissions = (5..<9).map {
            slots.admit($0, of: dead, tenant: tenant, until: later, at: end)
        }
        #expect(admissions == [.wait, .wait, .wait, .postpone(.seconds(6))])
    }

    /// Pairs that return together find no place again, and the events of others wait behind them.
    @Test func pairsOfASlowReceiverReturnAsTheyCanBeDelivered() {
        var slots = DeliverySlots<Int>(bounds: DeliveryBounds())
        let duration = Duration.seconds(12)
        var due = Dictionary(uniqueKeysWithValues: (0..<1000).map { ($0, start) })
        var ends: [ContinuousClock.Instant] = []
        var claimed = 0
        var delivered = 0
        for second in 0..<1200 {
            let now = start + .seconds(second)
            let ended = ends.count { $0 <= now }
            ends.removeAll { $0 <= now }
            for _ in 0..<ended {
                slots.took(duration, dead)
                slots.ended(dead, at: now)
                delivered += 1
                if slots.next(at: now) != nil { ends.append(now + duration) }
            }
            for (pair, wait) in slots.takeExpired(at: now) { due[pair] = now + wait }
            for pair in due.filter({ $0.value <= now }).keys.sorted() {
                claimed += 1
                due[pair] = nil
                let admission = slots.admit(
                    pair,
                    of: dead,
                    tenant: tenant,
                    until: now + .seconds(30),
                    at: now
                )
                switch admission {
                case .start: ends.append(now + duration)
                case .wait: break
                case .postpone(let wait): due[pair] = now + wait
                }
            }
        }
        // Four at a time would be 400, and claims with each lease of a minute 20,000.
        #expect(delivered > 320)
        #expect(claimed < 5000)
    }

    /// Nothing that waits takes the claims of others.
    @Test func slowReceiversOfManyTenantsLeaveClaimsForOthers() {
        var slots = slots(pairs: 64, perSubscription: 1)
        for number in 0..<400 {
            let id = SubscriptionID(UUID())
            slots.took(.seconds(12), id)
            _ = slots.admit(
                number,
                of: id,
                tenant: TenantID(UUID()),
                host: "slow.example",
                until: later,
                at: start
            )
        }
        #expect(slots.freeCount > 0)
        slots.took(.milliseconds(20), living)
        #expect(slots.admit(1, of: living, tenant: tenant, until: later, at: start) == .start)
    }

    /// When nothing of a subscription finds a place, it asks for one less and less often.
    @Test func returnsOfWhatFindsNoPlaceAreEverRarer() {
        let bounds = DeliveryBounds()
        var returns = DeliveryReturns(bounds, at: start)
        var now = start
        var waits: [Duration] = []
        for _ in 0..<5 {
            let wait = returns.wait(after: nil, distance: .zero, at: now)
            waits.append(wait)
            now += wait + .milliseconds(1)
        }
        #expect(waits == [1, 2, 4, 8, 16].map { Duration.seconds($0) })
        for _ in 0..<100 {
            let wait = returns.wait(after: .seconds(3600), distance: .seconds(40), at: now)
            #expect(wait >= bounds.postponementMax / 2 && wait <= bounds.postponementMax)
        }
    }

    @Test func startsNothingOnceDraining() {
        var slots = slots()
        for number in 0..<4 {
            _ = slots.admit(number, of: dead, tenant: tenant, until: later, at: start)
        }
        #expect(slots.drain().sorted() == [2, 3])
        #expect(slots.freeCount == 0)
        let admission = slots.admit(9, of: living, tenant: tenant, until: later, at: start)
        #expect(admission == .postpone(.zero))
        slots.ended(dead, at: start)
        #expect(slots.next(at: start) == nil)
        #expect(slots.runningCount == 1)
    }

    @Test func twoHundredSilentReceiversLeaveSlotsForOtherTenants() {
        var slots = DeliverySlots<Int>(bounds: DeliveryBounds())
        #expect(flood(&slots, 200, of: tenant).count == 96)
        // None of them ends, and any other pair is served at once.
        for _ in 0..<8 {
            let other = SubscriptionID(UUID())
            let admission = slots.admit(
                1,
                of: other,
                tenant: TenantID(UUID()),
                until: later,
                at: start
            )
            #expect(admission == .start)
            #expect(slots.freeCount > 0)
        }
    }

    /// As after each start of the service, which then knows no receiver.
    @Test func unknownReceiversLeaveTheirSlotsToOthersAfterASecond() {
        var slots = DeliverySlots<Int>(bounds: DeliveryBounds())
        #expect(flood(&slots, 200, of: tenant).count == 96)
        #expect(slots.next(at: start + .milliseconds(999)) == nil)
        let second = start + .seconds(1)
        let admission = slots.admit(1, of: living, tenant: tenant, until: later, at: second)
        #expect(admission == .start)
        // None of them ends, and all are under way after a few seconds.
        for number in 1...2 {
            while slots.next(at: start + .seconds(number)) != nil {}
        }
        #expect(slots.runningCount == 201)
    }

    @Test func furtherSlotsOfSlowReceiversAreBounded() {
        var slots = DeliverySlots<Int>(bounds: DeliveryBounds())
        _ = flood(&slots, 600, of: tenant)
        for number in 1...20 {
            while slots.next(at: start + .seconds(number)) != nil {}
        }
        #expect(slots.runningCount == 224)
        slots.took(.milliseconds(20), living)
        let end = start + .seconds(20)
        #expect(slots.admit(1, of: living, tenant: tenant, until: later, at: end) == .start)
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
                until: later,
                at: start
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
                until: later,
                at: start
            )
            #expect(admission == .start)
        }
    }

    @Test func whatEndsOfAHostIsFreeForIt() {
        var slots = slots(pairs: 2, perSubscription: 4, waiting: 8)
        let admissions = (0..<4).map {
            slots.admit($0, of: dead, tenant: tenant, host: "a", until: later, at: start)
        }
        #expect(admissions == [.start, .wait, .wait, .wait])
        // It has answered in time, which leaves it a larger part.
        slots.took(.zero, dead)
        #expect(slots.next(at: start) == 1)
        #expect(slots.next(at: start) == nil)
        slots.ended(dead, at: start)
        #expect(slots.next(at: start) == 2)
    }

    @Test func aReceiverThatWasQuickDoesNotWaitForSilentOnesOfItsTenant() {
        var slots = DeliverySlots<Int>(bounds: DeliveryBounds())
        slots.took(.milliseconds(20), living)
        _ = flood(&slots, 200, of: tenant)
        #expect(slots.admit(1, of: living, tenant: tenant, until: later, at: start) == .start)
    }

    @Test func slowReceiversShareAPart() {
        var slots = DeliverySlots<Int>(bounds: DeliveryBounds())
        let first = flood(&slots, 200, of: tenant)
        // They have answered late, and are due again.
        for id in first { slots.took(.seconds(14), id) }
        for id in first { slots.ended(id, at: start) }
        var ids: [SubscriptionID] = []
        for id in first {
            let admission = slots.admit(0, of: id, tenant: tenant, until: later, at: start)
            if admission == .start { ids.append(id) }
        }
        #expect(ids.count == 32)
        // Each subscription that answers in time from now on leaves that part.
        for id in ids { slots.took(.milliseconds(1), id) }
        var more = 0
        while slots.next(at: start) != nil { more += 1 }
        #expect(more > 0)
    }
}
