import Foundation
import Testing
import TransferModel

@testable import TransferEngine

/// Tenants beside one whose transfers never end.
@Suite struct FairShareDivisionTests: FairShareFixture {
    private static func total(_ grants: [FlowGrant]) -> Int {
        grants.reduce(0) { $0 + $1.count }
    }

    @Test(arguments: [1, 2, 5, 8, 16, 64, 256, 1000])
    func aloneOneMayHaveAll(slots: Int) {
        let shares = SlotShares(slots: slots)
        let own = (0...).first { !shares.mayTake(own: $0, taken: $0) }
        #expect(own == slots)
    }

    /// Each takes as much as it can get, one after the other, and nobody ever gives anything back.
    @Test func soManyFloodsLeaveASlotForAnother() {
        let shares = SlotShares(slots: 256)
        var taken = 0
        var own: [Int] = []
        while taken < shares.total {
            let share = (0...).first { !shares.mayTake(own: $0, taken: taken + $0) } ?? 0
            own.append(share)
            taken += share
        }
        #expect(own.count >= 16)
        #expect(own.prefix(2) == [256, 16])
        #expect(taken <= 288)
    }

    @Test func somebodyWhoComesFindsASlot() {
        var share = Self.share {
            $0.slots = 64
            $0.perHost = 64
        }
        let flows = [Self.flow(1, tenant: 0), Self.flow(2, tenant: 1), Self.flow(3, tenant: 2)]
        var fence: Int64 = 0
        share.note([flows[0]])
        // A single tenant may have all slots.
        let first = Self.take(share.grants(100), from: flows, in: &share, fence: &fence)
        #expect(first.count == 64)
        // None of these ends, and a newcomer has a slot.
        share.note([flows[1]])
        let second = Self.take(share.grants(100), from: flows, in: &share, fence: &fence)
        #expect(!second.isEmpty && second.allSatisfy { $0.tenant == Self.tenants[1] })
        share.note([flows[2]])
        let third = Self.take(share.grants(100), from: flows, in: &share, fence: &fence)
        #expect(third.map(\.tenant) == [Self.tenants[2]])
    }

    /// Quick tasks claimed ahead of slots take nothing from others when the tasks that follow are
    /// slow.
    @Test func whatOneHasClaimedAheadTakesNoSlot() {
        var share = Self.share {
            $0.slots = 16
            $0.perHost = 16
            $0.aheadMax = 16
        }
        let flows = [Self.flow(1, tenant: 0), Self.flow(2, tenant: 1)]
        var fence: Int64 = 0
        share.note([flows[0]])
        let now = ContinuousClock.now
        let quick = share.grants(100, at: now)
        for claim in Self.take(quick, from: flows, in: &share, fence: &fence) {
            share.ended(claim.fence, bytes: 1, at: now)
        }
        let slow = share.grants(100, at: now)
        let claims = Self.take(slow, from: flows, in: &share, fence: &fence)
        #expect(claims.count == 32)
        share.note([flows[1]])
        #expect(!share.grants(100, at: now + .seconds(1)).isEmpty)
    }

    @Test func whatBecomesFreeAtAHostIsForWhoHasNothingThere() {
        var share = Self.share { $0.perHost = 6 }
        let flows = [Self.flow(1, tenant: 0), Self.flow(1, tenant: 1)]
        var fence: Int64 = 0
        share.note([flows[0]])
        let first = Self.take(share.grants(100), from: flows, in: &share, fence: &fence)
        #expect(first.count == 6)
        share.note([flows[1]])
        share.ended(first[0].fence, bytes: 0)
        #expect(share.grants(100).map(\.flow) == [flows[1].flow])
        share.ended(first[1].fence, bytes: 0)
        #expect(Self.total(share.grants(100)) == 2)
    }

    @Test func oneThatHasSeveralAtAHostGivesWay() {
        var share = Self.share { $0.perHost = 6 }
        let flows = [Self.flow(1, tenant: 0), Self.flow(1, tenant: 1)]
        var fence: Int64 = 0
        share.note([flows[0]])
        let claims = Self.take(share.grants(100), from: flows, in: &share, fence: &fence)
        // An attempt that has received many bytes stays, and so does the oldest of the others.
        for claim in claims.dropFirst(2) { share.moved(claim.fence, bytes: 1 << 20) }
        let now = ContinuousClock.now
        #expect(share.givingWay(at: now).isEmpty)
        share.note([flows[1]])
        #expect(share.givingWay(at: now).isEmpty)
        // One look is planned for it, however often it is asked.
        #expect(share.takeWakeUp(at: now + .milliseconds(1)) == .milliseconds(499))
        #expect(share.takeWakeUp(at: now + .milliseconds(2)) == nil)
        #expect(share.givingWay(at: now + .milliseconds(499)).isEmpty)
        #expect(share.takeWakeUp(at: now + .milliseconds(499)) == nil)
        #expect(share.givingWay(at: now + .milliseconds(500)) == [claims[1].fence])
        #expect(share.takeWakeUp(at: now + .milliseconds(500)) == .milliseconds(500))
        // There is no second one before the first had time to end.
        #expect(share.givingWay(at: now + .milliseconds(501)).isEmpty)
        share.ended(claims[1].fence, bytes: 0)
        let next = Self.take(share.grants(100), from: flows, in: &share, fence: &fence)
        #expect(next.map(\.tenant) == [Self.tenants[1]])
        #expect(share.givingWay(at: now + .seconds(9)).isEmpty)
        #expect(share.givingWay(at: now + .seconds(19)).isEmpty)
    }

    /// Otherwise the waiting tasks of the other tenant would take its place.
    @Test func whoHasBeenClaimedAndGetsNoConnectionGetsOneToo() {
        var share = Self.share { $0.perHost = 6 }
        let flows = [Self.flow(1, tenant: 0), Self.flow(1, tenant: 1)]
        share.note(flows)
        var flood = (1...7).map { Self.claim($0, of: flows[0]) }
        let quiet = Self.claim(8, of: flows[1])
        share.took(flood + [quiet], of: [])
        let unconnected: Set = [flood[6].fence, quiet.fence]
        let now = ContinuousClock.now
        #expect(share.givingWay(unconnected: unconnected, at: now).isEmpty)
        let later = now + .milliseconds(500)
        let fences = share.givingWay(unconnected: unconnected, at: later)
        #expect(fences == [flood[5].fence, flood[6].fence])
        for fence in fences { share.ended(fence, bytes: 0) }
        flood.removeLast(2)
        #expect(share.givingWay(at: later + .seconds(9)).isEmpty)
    }

    @Test func noneGivesWayThatCannotBeAskedAgain() {
        var share = Self.share { $0.perHost = 2 }
        let flows = [Self.flow(1, tenant: 0), Self.flow(1, tenant: 1), Self.flow(1, tenant: 2)]
        share.note([flows[0]])
        let post = TransferRequest(kind: .data, method: "POST")
        let claims = (1...2).map { Self.claim($0, of: flows[0], request: post) }
        share.took(claims, of: share.grants(2))
        share.note([flows[1]])
        let now = ContinuousClock.now
        _ = share.givingWay(at: now)
        #expect(share.givingWay(at: now + .seconds(1)).isEmpty)
    }

    /// Nobody gives up the only connection that it has.
    @Test func nobodyLosesItsOnlyConnection() {
        var share = Self.share { $0.perHost = 2 }
        let flows = (0..<3).map { Self.flow(1, tenant: $0) }
        var fence: Int64 = 0
        share.note(Array(flows.prefix(2)))
        let claims = Self.take(share.grants(2), from: flows, in: &share, fence: &fence)
        #expect(Set(claims.map(\.tenant)).count == 2)
        share.note([flows[2]])
        let now = ContinuousClock.now
        _ = share.givingWay(at: now)
        #expect(share.givingWay(at: now + .seconds(1)).isEmpty)
    }

    /// However many tenants have taken all slots, another tenant gets one of theirs.
    @Test func oneGivesWayWhenAllSlotsAreTaken() {
        var share = Self.share {
            $0.slots = 8
            $0.perHost = 8
        }
        let flows = (0..<3).map { Self.flow(Int64($0 + 1), tenant: $0) }
        var fence: Int64 = 0
        for details in flows.prefix(2) {
            share.note([details])
            _ = Self.take(share.grants(100), from: flows, in: &share, fence: &fence)
        }
        share.note([flows[2]])
        #expect(share.grants(100).isEmpty)
        let now = ContinuousClock.now
        _ = share.givingWay(at: now)
        let fences = share.givingWay(at: now + .seconds(1))
        #expect(fences == [Fence(rawValue: 8)])
        for fence in fences { share.ended(fence, bytes: 0) }
        #expect(share.grants(100).map(\.flow) == [flows[2].flow])
    }
}
