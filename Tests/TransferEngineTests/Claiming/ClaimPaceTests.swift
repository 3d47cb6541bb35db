import Foundation
import PollLoop
import Synchronization
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct ClaimPaceTests {
    private final class Looks: Sendable {
        let count = Atomic(0)
    }

    private static let few = 4
    private static let many = 64

    private let presence = TenantPresence()
    private let start = ContinuousClock.now
    private let looks = Looks()
    private let flood = TenantID(UUID())
    private let quiet = TenantID(UUID())
    private let other = TenantID(UUID())

    /// Processors that are idle for this share of each interval.
    private func pace(idlePercent: Int) -> ClaimPace {
        ClaimPace(
            beside: presence,
            limit: WorkLimit(min: Self.few, max: Self.many),
            processors: { [looks] in
                let count = looks.count.wrappingAdd(1, ordering: .relaxed).newValue
                return ProcessorUse(
                    machine: ProcessorTimes(idle: count * idlePercent, all: count * 100),
                    groups: []
                )
            },
            at: start
        )
    }

    /// Has `tenants` begin as many as they may for a second, while `visitors` read their
    /// sessions; returns the time after it.
    private func flood(
        _ pace: inout ClaimPace,
        by tenants: [TenantID],
        beside visitors: [TenantID]
    ) -> ContinuousClock.Instant {
        var now = start
        while now < start + .seconds(1) {
            for visitor in visitors { presence.note(visitor, at: now) }
            for tenant in tenants {
                let count = min(pace.room(at: now)(tenant), Self.many)
                pace.note(Array(repeating: tenant, count: count), at: now)
            }
            now += ClaimPace.period
        }
        return now
    }

    @Test func besideAnotherTenantAndOnBusyProcessorsFewBeginInAPeriod() {
        var pace = pace(idlePercent: 0)
        let now = flood(&pace, by: [flood], beside: [quiet])
        #expect(pace.room(at: now)(flood) == Self.few)
        #expect(pace.takeWakeUp(at: now) == nil)
        pace.note(Array(repeating: flood, count: Self.few), at: now)
        #expect(pace.room(at: now)(flood) == 0)
        // The other one has as many as it wants.
        #expect(pace.room(at: now)(quiet) == .max)
    }

    @Test func theNextPeriodIsWaitedForOnce() {
        var pace = pace(idlePercent: 0)
        let now = flood(&pace, by: [flood], beside: [quiet])
        _ = pace.room(at: now)
        pace.note(Array(repeating: flood, count: Self.few), at: now)
        #expect(pace.takeWakeUp(at: now + .milliseconds(3)) == ClaimPace.period - .milliseconds(3))
        #expect(pace.takeWakeUp(at: now + .milliseconds(4)) == nil)
        let next = now + ClaimPace.period
        #expect(pace.room(at: next)(flood) == Self.few)
        pace.note(Array(repeating: flood, count: Self.few), at: next)
        // Even when it has already come.
        #expect(pace.takeWakeUp(at: next + ClaimPace.period * 2) == .zero)
    }

    @Test func aTenantAloneIsNotLimited() {
        var pace = pace(idlePercent: 0)
        let now = flood(&pace, by: [flood], beside: [])
        #expect(pace.room(at: now)(flood) == .max)
        // Nor is one whose visitor has gone.
        presence.note(quiet, at: now - TenantPresence.duration - .milliseconds(1))
        #expect(pace.room(at: now)(flood) == .max)
    }

    @Test func idleProcessorsAreForWhoeverHasTasks() {
        var pace = pace(idlePercent: 90)
        let now = flood(&pace, by: [flood], beside: [quiet])
        #expect(pace.room(at: now)(flood) == Self.many)
    }

    @Test func tenantsWithManyTasksDoNotLimitEachOther() {
        var pace = pace(idlePercent: 0)
        var now = flood(&pace, by: [flood, other], beside: [flood, other])
        #expect(pace.room(at: now)(flood) == .max)
        #expect(pace.room(at: now)(other) == .max)
        // Once it has no more tasks, a tenant's requests count again.
        now += TenantPresence.duration
        pace.note([flood], at: now)
        presence.note(other, at: now + ClaimPace.period)
        #expect(pace.room(at: now + ClaimPace.period)(flood) == Self.many)
    }

    @Test func aThirdTenantLimitsBoth() {
        var pace = pace(idlePercent: 0)
        let now = flood(&pace, by: [flood, other], beside: [quiet])
        for tenant in [flood, other] {
            #expect(pace.room(at: now)(tenant) == Self.few)
            pace.note(Array(repeating: tenant, count: Self.few), at: now)
        }
        #expect(pace.room(at: now)(flood) == 0)
    }

    /// A worker may serve no requests, and then knows tenants by their tasks.
    @Test func aTenantWithFewTasksIsThere() {
        var pace = pace(idlePercent: 0)
        pace.note([quiet], at: start)
        #expect(!presence.isAlone(flood, at: start))
        pace.note(Array(repeating: flood, count: Self.few), at: start)
        #expect(presence.isAlone(quiet, at: start))
    }
}
