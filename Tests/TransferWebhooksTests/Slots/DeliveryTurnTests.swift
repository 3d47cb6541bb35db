import Foundation
import Testing
import TransferModel

@testable import TransferWebhooks

@Suite struct DeliveryTurnTests {
    private let start = ContinuousClock.now
    private let tenant = TenantID(UUID())
    private let first = SubscriptionID(UUID())
    private let second = SubscriptionID(UUID())

    private var later: ContinuousClock.Instant { start + .seconds(60) }

    private func slots(_ change: (inout DeliveryBounds) -> Void) -> DeliverySlots<Int> {
        var bounds = DeliveryBounds()
        change(&bounds)
        return DeliverySlots(bounds: bounds)
    }

    private func successor(_ end: DeliverySlots<Int>.TurnEnd) -> Int? {
        switch end {
        case .givesWay(let claim): claim
        case .goesOn, .leaves: nil
        }
    }

    private func goesOn(_ end: DeliverySlots<Int>.TurnEnd) -> Bool {
        switch end {
        case .goesOn: true
        case .leaves, .givesWay: false
        }
    }

    @Test func aTurnEndsWithItsTimeOrItsMessagesButNotBeforeTheFirst() {
        var bounds = DeliveryBounds()
        bounds.turnMax = .seconds(1)
        bounds.turnMessagesMax = 3
        var turn = DeliveryTurn<Int>(bounds, at: start)
        #expect(!turn.isOver(at: later))
        turn.advance()
        #expect(!turn.isOver(at: start + .milliseconds(999)))
        #expect(turn.isOver(at: start + .seconds(1)))
        turn.restart(at: later)
        #expect(!turn.isOver(at: later + .seconds(5)))
        for _ in 0..<2 { turn.advance() }
        #expect(!turn.isOver(at: later))
        turn.advance()
        #expect(turn.isOver(at: later))
    }

    @Test func aPairGivesWayToWhatWaitsForItsSlot() {
        var slots = slots { $0.perSubscriptionMax = 1 }
        _ = slots.admit(0, of: first, tenant: tenant, until: later, at: start)
        let isAlone = goesOn(slots.turnEnded(first, at: start))
        #expect(isAlone)
        let admission = slots.admit(1, of: first, tenant: tenant, until: later, at: start)
        #expect(admission == .wait)
        let next = successor(slots.turnEnded(first, at: start))
        #expect(next == 1)
        #expect(slots.runningCount == 1)
        // It is claimed again, and waits behind.
        let again = slots.admit(0, of: first, tenant: tenant, until: later, at: start)
        #expect(again == .wait)
        slots.ended(first, at: start)
        #expect(slots.next(at: start) == 0)
    }

    @Test func noPairGivesWayToWhatCouldNotStartInItsPlace() {
        var slots = slots { $0.perSubscriptionMax = 1 }
        for number in 0..<2 {
            _ = slots.admit(number, of: first, tenant: tenant, until: later, at: start)
        }
        _ = slots.admit(2, of: second, tenant: tenant, until: later, at: start)
        let isUndisturbed = goesOn(slots.turnEnded(second, at: start))
        #expect(isUndisturbed)
        #expect(slots.runningCount == 2)
    }

    /// They were unknown when they started, and 96 of these may run.
    @Test func receiversThatTurnOutToBeSlowKeepNoMoreThanTheirPart() {
        var slots = slots { _ in }
        let ids = (0..<96).map { _ in SubscriptionID(UUID()) }
        for id in ids {
            let admission = slots.admit(0, of: id, tenant: tenant, until: later, at: start)
            #expect(admission == .start)
        }
        #expect(slots.admit(1, of: first, tenant: tenant, until: later, at: start) == .wait)
        for id in ids { slots.took(.seconds(2), id) }
        let next = successor(slots.turnEnded(ids[0], at: start))
        #expect(next == 1)
        for id in ids.dropFirst() {
            let end = slots.turnEnded(id, at: start)
            #expect(successor(end) == nil)
            if !goesOn(end) { slots.ended(id, at: start) }
        }
        // With the one that was waiting.
        #expect(slots.runningCount == 33)
        #expect(slots.admit(2, of: second, tenant: tenant, until: later, at: start) == .start)
    }

    @Test func aReceiverThatTurnsOutToBeSlowHasAFurtherSlotForOneMessage() {
        var slots = slots { _ in }
        let ids = (0..<96).map { _ in SubscriptionID(UUID()) }
        for id in ids {
            let admission = slots.admit(0, of: id, tenant: tenant, until: later, at: start)
            #expect(admission == .start)
        }
        let second = start + .seconds(1)
        #expect(slots.admit(1, of: first, tenant: tenant, until: later, at: second) == .start)
        #expect(slots.runningCount == 97)
        for id in ids { slots.took(.seconds(2), id) }
        for id in ids {
            let end = slots.turnEnded(id, at: second)
            if !goesOn(end) { slots.ended(id, at: second) }
        }
        // With the one that is not known yet.
        #expect(slots.runningCount == 33)
    }

    /// What is due is found out about even then, and starts when a turn ends.
    @Test func pairsAreClaimedThoughAllSlotsAreTaken() {
        var slots = slots { $0.pairsMax = 8 }
        var started = 0
        for number in 0..<20 {
            let id = SubscriptionID(UUID())
            slots.took(.zero, id)
            let owner = TenantID(UUID())
            let admission = slots.admit(number, of: id, tenant: owner, until: later, at: start)
            if admission == .start { started += 1 }
        }
        #expect(started == 9)
        #expect(slots.areAllTaken)
        #expect(slots.freeCount == 8)
    }

    @Test func postponedPairsAreRecalledWhenNothingElseOfTheirSubscriptionWaits() {
        var slots = slots {
            $0.perSubscriptionMax = 1
            $0.waitingMax = 1
        }
        #expect(slots.recallCount(of: first) == 0)
        for number in 0..<3 {
            _ = slots.admit(number, of: first, tenant: tenant, until: later, at: start)
        }
        #expect(slots.recallCount(of: first) == 0)
        // Each takes ten seconds, and claims last for thirty.
        slots.ended(first, at: start + .seconds(10))
        #expect(slots.next(at: start + .seconds(10)) == 1)
        #expect(slots.recallCount(of: first) == 3)
        slots.ended(first, at: start + .seconds(20))
        #expect(slots.recallCount(of: first) > 0)
        slots.forgetReturns(of: first)
        #expect(slots.recallCount(of: first) == 0)
    }
}
