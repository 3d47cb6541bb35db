import Foundation
import Testing
import TransferModel

@testable import TransferWebhooks

@Suite struct DeliverySlotsTests {
    private let start = ContinuousClock.now
    private let dead = SubscriptionID(UUID())
    private let living = SubscriptionID(UUID())

    private func slots(
        pairs: Int = 6,
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

    @Test func givesOneSubscriptionOnlyItsShare() {
        var slots = slots()
        let admissions = (0..<6).map { slots.admit($0, of: dead, until: later) }
        #expect(admissions == [.start, .start, .wait, .wait, .wait, .drop])
        #expect(slots.freeCount == 4)
        #expect(slots.admit(10, of: living, until: later) == .start)
    }

    @Test func boundsWhatWaitsOfAllSubscriptions() {
        var slots = slots()
        for number in 0..<5 { _ = slots.admit(number, of: dead, until: later) }
        let admissions = (0..<4).map { slots.admit($0, of: living, until: later) }
        #expect(admissions == [.start, .start, .wait, .drop])
    }

    @Test func startsNoMorePairsThanItMay() {
        var slots = slots(pairs: 1)
        #expect(slots.admit(0, of: dead, until: later) == .start)
        #expect(slots.freeCount == 0)
        #expect(slots.admit(1, of: living, until: later) == .drop)
    }

    @Test func handsASlotToTheNextOfTheSameSubscription() {
        var slots = slots()
        for number in 0..<4 { _ = slots.admit(number, of: dead, until: later) }
        #expect(slots.ended(dead, at: start) == 2)
        #expect(slots.ended(dead, at: start) == 3)
        #expect(slots.runningCount == 2)
        #expect(slots.ended(dead, at: start) == nil)
        #expect(slots.ended(dead, at: start) == nil)
        #expect(slots.runningCount == 0)
    }

    @Test func forgetsWhatHasWaitedTooLong() {
        var slots = slots()
        for number in 0..<3 { _ = slots.admit(number, of: dead, until: start) }
        _ = slots.admit(3, of: dead, until: later)
        #expect(slots.ended(dead, at: start) == 3)
        // The place of the forgotten one is free again.
        let admissions = (4..<8).map { slots.admit($0, of: dead, until: later) }
        #expect(admissions == [.wait, .wait, .wait, .drop])
    }

    @Test func startsNothingOnceDraining() {
        var slots = slots()
        for number in 0..<4 { _ = slots.admit(number, of: dead, until: later) }
        #expect(slots.drain().sorted() == [2, 3])
        #expect(slots.freeCount == 0)
        #expect(slots.admit(9, of: living, until: later) == .drop)
        #expect(slots.ended(dead, at: start) == nil)
        #expect(slots.runningCount == 1)
    }
}
