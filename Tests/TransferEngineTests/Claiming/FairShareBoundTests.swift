import Foundation
import Testing
import TransferModel

@testable import TransferEngine

/// The resources that one tenant or one host cannot take from the others.
@Suite struct FairShareBoundTests: FairShareFixture {
    private static let begin = ContinuousClock.now

    /// Claims one task of a host and lets it end in a given way.
    private static func end(
        _ report: HostPace.Report,
        at hostKey: Int64,
        _ fence: Int64,
        in share: inout FairShare
    ) -> HostPace.Decision? {
        let details = flow(hostKey)
        share.note([details])
        share.took([claim(fence, of: details)], of: [])
        let fence = Fence(rawValue: fence)
        defer { share.ended(fence, bytes: 1) }
        return share.learn(report, from: fence, bytes: 1, at: begin)
    }

    @Test func aTenantWithManyFlowsLeavesPlaceForOthers() {
        var share = Self.share { $0.flowsMax = 10 }
        let isAllKnown = share.note((0..<100).map { Self.flow($0) })
        #expect(!isAllKnown)
        let other = (0..<20).map { Self.flow(1000 + $0, tenant: 1) }
        let hasAllPlace = share.note([other[0]])
        #expect(!hasAllPlace)
        #expect(share.waitingCount == 10)
        #expect(share.grants(100).contains { $0.flow == other[0].flow })
        share.note(other)
        let grants = share.grants(100)
        #expect(grants.count == 10)
        // Each gets equally many; a host that has as many takes nothing from the other.
        #expect(grants.count { $0.flow.hostKey.rawValue < 1000 } == 5)
        share.note((0..<100).map { Self.flow($0) })
        #expect(share.grants(100).count { $0.flow.hostKey.rawValue < 1000 } == 5)
    }

    /// An ended task counts until its end is stored, so a claim may return too few of a flow that
    /// has more.
    @Test func aFlowOfABoundTenantGoesOnOnceEndsAreStored() {
        var share = Self.share()
        let bound = Self.flow(1, tasksMax: 2)
        share.note([bound])
        share.took([], of: share.grants(2), at: Self.begin)
        #expect(share.grants(2).isEmpty)
        let wasHeldBack = share.stored()
        #expect(wasHeldBack)
        #expect(share.grants(2).map(\.count) == [2])
        let isHeldBack = share.stored()
        #expect(!isHeldBack)
    }

    /// The claim may have counted before the ends that were stored while it was under way.
    @Test func whatIsStoredDuringAClaimIsNotMissed() {
        var share = Self.share()
        share.note([Self.flow(1, tasksMax: 2)])
        let grants = share.grants(2)
        let isHeldBack = share.stored()
        #expect(!isHeldBack)
        share.took([], of: grants, at: Self.begin)
        #expect(share.grants(2).map(\.count) == [2])
    }

    @Test func aFlowOfABoundTenantIsForgottenWhenItStaysDry() {
        var share = Self.share()
        let bound = Self.flow(1, tasksMax: 2)
        share.note([bound])
        share.took([], of: share.grants(2), at: Self.begin)
        _ = share.stored()
        share.took([], of: share.grants(2), at: Self.begin + .milliseconds(999))
        #expect(share.waitingCount == 1)
        _ = share.stored()
        share.took([], of: share.grants(2), at: Self.begin + .seconds(1))
        #expect(share.waitingCount == 0)
        // A flow that is seen to have tasks continues at once.
        share.note([bound])
        share.took([], of: share.grants(2), at: Self.begin)
        share.note([bound])
        #expect(share.grants(2).map(\.count) == [2])
    }

    @Test func aClosedHostGetsOneTaskAtATime() {
        var share = Self.share()
        let (closed, open) = (Self.flow(1), Self.flow(2))
        share.note([closed, Self.flow(1), open])
        let grants = share.grants(100) { $0 == closed.flow.hostKey }
        #expect(grants.filter { $0.flow.hostKey == closed.flow.hostKey }.map(\.count) == [1])
        #expect(grants.first { $0.flow == open.flow }?.count == 6)
    }

    @Test func hostsThatAreGivenLessAreNotForgottenAllAtOnce() {
        var share = Self.share { $0.hostsMax = 8 }
        for hostKey in 0..<9 as Range<Int64> {
            let decision = Self.end(.refused(status: 503), at: hostKey, hostKey, in: &share)
            #expect(decision?.after == 3)
        }
        let troubled = (0..<9 as Range<Int64>).filter {
            share.pace(of: HostKey(rawValue: $0)) != nil
        }
        #expect(troubled.count == 7)
        #expect(troubled.contains(8))
    }

    @Test func aNewOwnerRemembersAsManyHostsAsOfItsOwn() {
        var share = Self.share { $0.hostsMax = 8 }
        share.own([], foreign: [:])
        let hosts = Dictionary(
            uniqueKeysWithValues: (0..<9 as Range<Int64>).map {
                (HostKey(rawValue: $0), HostState(maxConnections: nil, connections: 3))
            }
        )
        share.own(Set(Shard.all), foreign: [:], hosts: hosts)
        let troubled = hosts.keys.filter { share.pace(of: $0) != nil }
        #expect(troubled.count == 8)
    }

    @Test func whatAnOperatorTakesAwayIsNoLongerTrouble() {
        var share = Self.share()
        let hostKey = HostKey(rawValue: 1)
        let halved = Self.end(.refused(status: 503), at: 1, 1, in: &share)
        #expect(halved?.after == 3)
        #expect(share.pace(of: hostKey) == 3)
        share.own(
            Set(Shard.all),
            foreign: [:],
            hosts: [hostKey: HostState(maxConnections: 3, connections: 3)]
        )
        let decision = Self.end(.answered, at: 1, 2, in: &share)
        #expect(decision?.before == 3)
        #expect(decision?.after == 3)
        #expect(share.pace(of: hostKey) == nil)
        // A host that may have only one is not reported again and again.
        share.own(
            Set(Shard.all),
            foreign: [:],
            hosts: [hostKey: HostState(maxConnections: 1, connections: nil)]
        )
        let none = Self.end(.refused(status: 503), at: 1, 3, in: &share)
        #expect(none == nil)
    }

    /// The stored limit is what the host is given, whatever others still run there.
    @Test func whatIsStoredIsThePaceOfTheHost() throws {
        let fairShare = SharedFairShare(FairShare.Settings())
        let details = Self.flow(1)
        let claim = Self.claim(1, of: details)
        fairShare.with { share in
            share.own(Set(Shard.all), foreign: [details.flow: 2])
            share.note([details])
            share.took([claim], of: [])
        }
        fairShare.record(.closed("Closed."), of: claim)
        let closed = try #require(fairShare.takeChanges().first)
        #expect(closed.connections == nil)
        #expect(closed.decision.before == 6)
        #expect(closed.decision.after == 0)
        fairShare.learn(.refused(status: 503), from: claim, bytes: 0)
        fairShare.record(.opened("Opened."), of: claim)
        let changes = fairShare.takeChanges()
        #expect(changes.map(\.connections) == [3, 3])
        #expect(changes.map(\.decision.after) == [3, 3])
    }

    @Test func whoHasLostAShardTellsNothingOfItsHosts() {
        let fairShare = SharedFairShare(FairShare.Settings())
        let claim = Self.claim(1, of: Self.flow(1))
        fairShare.with { $0.own(Set(Shard.all), foreign: [:]) }
        fairShare.record(.closed("Closed."), of: claim)
        fairShare.with { $0.own([], foreign: [:]) }
        #expect(fairShare.takeChanges().isEmpty)
        fairShare.record(.opened("Opened."), of: claim)
        fairShare.with { $0.own(Set(Shard.all), foreign: [:]) }
        #expect(fairShare.takeChanges().isEmpty)
    }
}
