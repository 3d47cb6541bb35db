import Foundation
import Testing
import TransferModel

@testable import TransferEngine

/// The resources that one tenant or one host cannot take from the others.
@Suite struct ScheduleBoundTests: ScheduleFixture {
    private static let begin = ContinuousClock.now

    /// Claims one task of a host and lets it end in a given way.
    private static func end(
        _ signal: HostPace.Signal,
        at lane: Int64,
        _ fence: Int64,
        in schedule: inout Schedule
    ) -> HostPace.Decision? {
        let details = flow(lane)
        schedule.note([details])
        schedule.took([claim(fence, of: details)], of: [])
        let fence = Fence(rawValue: fence)
        defer { schedule.ended(fence, bytes: 1) }
        return schedule.learn(signal, from: fence, bytes: 1, at: begin)
    }

    @Test func aTenantWithManyFlowsLeavesPlaceForOthers() {
        var schedule = Self.schedule { $0.flowsMax = 10 }
        let isAllKnown = schedule.note((0..<100).map { Self.flow($0) })
        #expect(!isAllKnown)
        let other = (0..<20).map { Self.flow(1000 + $0, tenant: 1) }
        let hasAllPlace = schedule.note([other[0]])
        #expect(!hasAllPlace)
        #expect(schedule.waitingCount == 10)
        #expect(schedule.grants(100).contains { $0.flow == other[0].flow })
        schedule.note(other)
        let grants = schedule.grants(100)
        #expect(grants.count == 10)
        // Each gets equally many; a host that has as many takes nothing from the other.
        #expect(grants.count { $0.flow.lane.key < 1000 } == 5)
        schedule.note((0..<100).map { Self.flow($0) })
        #expect(schedule.grants(100).count { $0.flow.lane.key < 1000 } == 5)
    }

    /// An ended task counts until its end is stored, so a claim may return too few of a flow that
    /// has more.
    @Test func aFlowOfABoundTenantGoesOnOnceEndsAreStored() {
        var schedule = Self.schedule()
        let bound = Self.flow(1, tasksMax: 2)
        schedule.note([bound])
        schedule.took([], of: schedule.grants(2), at: Self.begin)
        #expect(schedule.grants(2).isEmpty)
        let wasHeldBack = schedule.stored()
        #expect(wasHeldBack)
        #expect(schedule.grants(2).map(\.count) == [2])
        let isHeldBack = schedule.stored()
        #expect(!isHeldBack)
    }

    /// The claim may have counted before the ends that were stored while it was under way.
    @Test func whatIsStoredDuringAClaimIsNotMissed() {
        var schedule = Self.schedule()
        schedule.note([Self.flow(1, tasksMax: 2)])
        let grants = schedule.grants(2)
        let isHeldBack = schedule.stored()
        #expect(!isHeldBack)
        schedule.took([], of: grants, at: Self.begin)
        #expect(schedule.grants(2).map(\.count) == [2])
    }

    @Test func aFlowOfABoundTenantIsForgottenWhenItStaysDry() {
        var schedule = Self.schedule()
        let bound = Self.flow(1, tasksMax: 2)
        schedule.note([bound])
        schedule.took([], of: schedule.grants(2), at: Self.begin)
        _ = schedule.stored()
        schedule.took([], of: schedule.grants(2), at: Self.begin + .milliseconds(999))
        #expect(schedule.waitingCount == 1)
        _ = schedule.stored()
        schedule.took([], of: schedule.grants(2), at: Self.begin + .seconds(1))
        #expect(schedule.waitingCount == 0)
        // A flow that is seen to have tasks continues at once.
        schedule.note([bound])
        schedule.took([], of: schedule.grants(2), at: Self.begin)
        schedule.note([bound])
        #expect(schedule.grants(2).map(\.count) == [2])
    }

    @Test func aClosedHostGetsOneTaskAtATime() {
        var schedule = Self.schedule()
        let (closed, open) = (Self.flow(1), Self.flow(2))
        schedule.note([closed, Self.flow(1), open])
        let grants = schedule.grants(100) { $0 == closed.flow.lane }
        #expect(grants.filter { $0.flow.lane == closed.flow.lane }.map(\.count) == [1])
        #expect(grants.first { $0.flow == open.flow }?.count == 6)
    }

    @Test func hostsThatAreGivenLessAreNotForgottenAllAtOnce() {
        var schedule = Self.schedule { $0.hostsMax = 8 }
        for lane in 0..<9 as Range<Int64> {
            let decision = Self.end(.refused(status: 503), at: lane, lane, in: &schedule)
            #expect(decision?.after == 3)
        }
        let troubled = (0..<9 as Range<Int64>).filter { schedule.pace(of: Lane(key: $0)) != nil }
        #expect(troubled.count == 7)
        #expect(troubled.contains(8))
    }

    @Test func whatAnOperatorTakesAwayIsNoLongerTrouble() {
        var schedule = Self.schedule()
        let lane = Lane(key: 1)
        let halved = Self.end(.refused(status: 503), at: 1, 1, in: &schedule)
        #expect(halved?.after == 3)
        #expect(schedule.pace(of: lane) == 3)
        schedule.own(
            Set(Shard.all),
            foreign: [:],
            hosts: [lane: HostState(maxConnections: 3, connections: 3)]
        )
        let decision = Self.end(.answered, at: 1, 2, in: &schedule)
        #expect(decision?.before == 3)
        #expect(decision?.after == 3)
        #expect(schedule.pace(of: lane) == nil)
        // A host that may have only one is not reported again and again.
        schedule.own(
            Set(Shard.all),
            foreign: [:],
            hosts: [lane: HostState(maxConnections: 1, connections: nil)]
        )
        let none = Self.end(.refused(status: 503), at: 1, 3, in: &schedule)
        #expect(none == nil)
    }

    /// The stored limit is what the host is given, whatever others still run there.
    @Test func whatIsStoredIsThePaceOfTheHost() throws {
        let scheduler = Scheduler(Schedule.Settings())
        let details = Self.flow(1)
        let claim = Self.claim(1, of: details)
        scheduler.with { schedule in
            schedule.own(Set(Shard.all), foreign: [details.flow: 2])
            schedule.note([details])
            schedule.took([claim], of: [])
        }
        scheduler.record(.closed("Closed."), of: claim)
        let closed = try #require(scheduler.takeChanges().first)
        #expect(closed.connections == nil)
        #expect(closed.decision.before == 6)
        #expect(closed.decision.after == 0)
        scheduler.learn(.refused(status: 503), from: claim, bytes: 0)
        scheduler.record(.opened("Opened."), of: claim)
        let changes = scheduler.takeChanges()
        #expect(changes.map(\.connections) == [3, 3])
        #expect(changes.map(\.decision.after) == [3, 3])
    }

    @Test func whoHasLostAShardTellsNothingOfItsHosts() {
        let scheduler = Scheduler(Schedule.Settings())
        let claim = Self.claim(1, of: Self.flow(1))
        scheduler.with { $0.own(Set(Shard.all), foreign: [:]) }
        scheduler.record(.closed("Closed."), of: claim)
        scheduler.with { $0.own([], foreign: [:]) }
        #expect(scheduler.takeChanges().isEmpty)
        scheduler.record(.opened("Opened."), of: claim)
        scheduler.with { $0.own(Set(Shard.all), foreign: [:]) }
        #expect(scheduler.takeChanges().isEmpty)
    }
}
