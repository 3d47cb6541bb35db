import Foundation
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferEngine

@Suite struct FairShareTests: FairShareFixture {
    @Test func neverMoreThanTheHostTheSessionAndTheTenantMayHave() {
        var share = Self.share {
            $0.slots = 100
            $0.perHost = 6
        }
        let session = SessionID(UUID())
        let capped = Self.flow(1, session: session, perHost: 2)
        let other = Self.flow(1)
        let elsewhere = Self.flow(2, session: session, perHost: 2)
        let bound = Self.flow(3, tenant: 1, tasksMax: 3)
        share.note([capped, other, elsewhere, bound])
        let counts = Self.counts(share.grants(100))
        #expect(counts[capped.flow] == 2)
        #expect(counts[other.flow] == 4)
        // Equally many of each host.
        #expect(counts[elsewhere.flow] == 2)
        #expect(counts[bound.flow] == 3)
        func bounds(_ details: WaitingFlow) -> [TenantID] {
            share.boundTenants(
                of: [FlowGrant(flow: details.flow, count: 1, from: details.position)]
            )
        }
        #expect(bounds(bound) == [bound.tenant])
        #expect(bounds(other).isEmpty)
    }

    @Test func whatRunsAndWhatOthersRunCounts() {
        var share = Self.share { $0.perHost = 6 }
        let capped = Self.flow(1, perHost: 4)
        let flows = [capped, Self.flow(1)]
        var fence: Int64 = 0
        share.own(Set(Shard.all), foreign: [capped.flow: 3])
        share.note(flows)
        #expect(share.limit(of: HostKey(rawValue: 1)) == 3)
        let claims = Self.take(share.grants(100), from: flows, in: &share, fence: &fence)
        #expect(claims.count == 3)
        #expect(claims.count { $0.flow == capped.flow } == 1)
        #expect(share.grants(100).isEmpty)
        share.ended(claims[0].fence, bytes: 10)
        // A second end frees nothing.
        share.ended(claims[0].fence, bytes: 10)
        #expect(share.grants(100).map(\.count) == [1])
        share.own(Set(Shard.all), foreign: [:])
        #expect(share.grants(100).reduce(0) { $0 + $1.count } == 4)
    }

    @Test func onlyOwnShardsAreServed() {
        var share = Self.share()
        let flows = [Self.flow(.min), Self.flow(.max)]
        share.note(flows)
        share.own([HostKey(rawValue: .max).shard], foreign: [:])
        #expect(share.grants(100).map(\.flow) == [flows[1].flow])
        #expect(share.limit(of: HostKey(rawValue: .min)) == 0)
        share.note(flows)
        #expect(share.waitingCount == 1)
        share.own([], foreign: [:])
        #expect(share.grants(100).isEmpty)
    }

    @Test func shardsWithoutRunningTasksAreGivenAwayFirst() {
        var share = Self.share()
        let details = Self.flow(.min)
        share.note([details])
        var fence: Int64 = 0
        _ = Self.take(share.grants(1), from: [details], in: &share, fence: &fence)
        let surplus = share.surplus(of: Set(Shard.all), beyond: 1)
        #expect(surplus == Set(Shard.all).subtracting([HostKey(rawValue: .min).shard]))
        #expect(share.surplus(of: Set(Shard.all), beyond: 64).isEmpty)
    }

    @Test func higherPriorityOfTheSameTenantGoesFirstAtAHost() {
        var share = Self.share { $0.perHost = 3 }
        let low = Self.flow(1, rank: 900)
        let high = Self.flow(1, rank: 100)
        share.note([low, high])
        #expect(Self.counts(share.grants(100)) == [high.flow: 3])
        // The tasks behind its first one are no longer more urgent.
        share.took(
            (1...3).map {
                Self.claim($0, of: Self.flow(1, session: high.flow.session, rank: 950))
            },
            of: share.grants(3)
        )
        for fence in 1...3 as ClosedRange<Int64> {
            share.ended(Fence(rawValue: fence), bytes: 1)
        }
        #expect(Self.counts(share.grants(100)) == [low.flow: 3])
    }

    @Test func aFlowIsGoneOnWithWhereItsLastClaimEnded() {
        var share = Self.share { $0.perHost = 2 }
        let details = Self.flow(1)
        share.note([details])
        let first = share.grants(9)
        #expect(first.map(\.from) == [details.position])
        let claims = (1...2).map { Self.claim($0, of: details) }
        share.took(claims, of: first)
        for claim in claims { share.ended(claim.fence, bytes: 1) }
        #expect(share.grants(9).map(\.from.task) == [claims[1].task])
        // The task seen at its head counts, such as one that has come back.
        share.note([details])
        #expect(share.grants(9).map(\.from) == [details.position])
    }

    @Test func aHostWithMillionsOfTasksDoesNotDelayAThousandSmallOnes() {
        var share = Self.share {
            $0.slots = 64
            $0.perHost = 6
        }
        let large = Self.flow(0)
        let small = (1...1000).map { Self.flow(Int64($0)) }
        share.note([large] + small)
        var fence: Int64 = 0
        var served: Set<Flow> = []
        var ofLarge = 0
        // Each small host has one task; how many start before all of them had their turn?
        while served.count < small.count {
            let grants = share.grants(64)
            var claims: [TaskClaim] = []
            for grant in grants {
                fence += 1
                let details =
                    grant.flow == large.flow
                    ? large
                    : Self.flow(
                        grant.flow.hostKey.rawValue,
                        session: grant.flow.session
                    )
                claims.append(Self.claim(fence, of: details))
                if grant.flow == large.flow { ofLarge += 1 } else { served.insert(grant.flow) }
            }
            share.took(claims, of: grants)
            // Another task of the large one is always there.
            share.note([large])
            for claim in claims { share.ended(claim.fence, bytes: 64 << 10) }
            #expect(!grants.isEmpty)
        }
        #expect(ofLarge <= 200)
    }

    @Test func tenantsGetTheSameInBytes() {
        var share = Self.share {
            $0.slots = 32
            $0.perHost = 32
        }
        // One with few hosts and large files, one with many hosts and small files.
        let large = [Self.flow(1, tenant: 0)]
        let small = (2..<40).map { Self.flow(Int64($0), tenant: 1) }
        let flows = large + small
        share.note(flows)
        var fence: Int64 = 0
        var bytes: [TenantID: Int64] = [:]
        for _ in 0..<400 {
            for claim in Self.take(share.grants(32), from: flows, in: &share, fence: &fence) {
                let size: Int64 = claim.tenant == Self.tenants[0] ? 4 << 20 : 64 << 10
                bytes[claim.tenant, default: 0] += size
                share.ended(claim.fence, bytes: size)
            }
        }
        let ratio =
            Double(bytes[Self.tenants[0], default: 0]) / Double(bytes[Self.tenants[1], default: 1])
        #expect((0.7...1.4).contains(ratio))
    }

    @Test func discretionaryTasksTakeWhatIsIdle() {
        var share = Self.share {
            $0.slots = 8
            $0.perHost = 8
        }
        let idle = Self.flow(1, isDiscretionary: true)
        share.note([idle])
        #expect(share.grants(100).map(\.count) == [6])
        #expect(share.grants(100, isOpenHour: true).map(\.count) == [8])
        let urgent = Self.flow(2)
        share.note([urgent])
        #expect(Self.counts(share.grants(100)) == [urgent.flow: 8])
        #expect(Self.counts(share.grants(100, isOpenHour: true)).count == 2)
    }

    @Test func aFlowThatHasRunDryIsForgottenAndCostsNothing() {
        var share = Self.share()
        let details = Self.flow(1)
        share.note([details])
        let grants = share.grants(6)
        share.took([Self.claim(1, of: details)], of: grants)
        #expect(share.waitingCount == 0)
        #expect(share.grants(6).isEmpty)
        share.ended(Fence(rawValue: 1), bytes: 1)
        #expect(share.held.isEmpty)
        share.note([details])
        #expect(share.grants(6).map(\.count) == [6])
    }

    @Test func asMuchIsClaimedAheadAsHasJustEnded() {
        var share = Self.share {
            $0.aheadMax = 256
            $0.perHost = 6
            $0.slots = 64
        }
        let fast = Self.flow(1)
        let slow = Self.flow(2)
        let bound = Self.flow(3, tenant: 1, tasksMax: 2)
        let capped = Self.flow(4, perHost: 1)
        let flows = [fast, slow, bound, capped]
        share.note(flows)
        var fence: Int64 = 0
        let now = ContinuousClock.now
        func counts(_ now: ContinuousClock.Instant) -> [Int] {
            let grants = share.grants(256, at: now)
            return flows.map { flow in grants.first { $0.flow == flow.flow }?.count ?? 0 }
        }
        #expect(counts(now) == [6, 6, 2, 1])
        let claims = Self.take(
            share.grants(256, at: now),
            from: flows,
            in: &share,
            fence: &fence
        )
        #expect(counts(now) == [0, 0, 0, 0])
        for claim in claims where claim.flow != slow.flow {
            share.ended(claim.fence, bytes: 1, at: now)
        }
        // The freed number, and as much again; nothing beyond a tenant's maximum of running tasks.
        #expect(counts(now) == [12, 0, 2, 2])
        #expect(counts(now + .seconds(1)) == [6, 0, 2, 1])
        // A host that could not be asked for anything says nothing about its speed.
        let more = Self.take(
            share.grants(256, at: now + .seconds(1)),
            from: flows,
            in: &share,
            fence: &fence
        )
        for claim in more { share.ended(claim.fence, bytes: 0, at: now + .seconds(1)) }
        #expect(counts(now + .seconds(1)) == [6, 0, 2, 1])
    }

    @Test(arguments: [(perHost: 6, slots: 64), (perHost: 64, slots: 6)])
    func noMoreIsClaimedAheadThanTwoForEachConnection(perHost: Int, slots: Int) {
        var share = Self.share { ($0.aheadMax, $0.perHost, $0.slots) = (256, perHost, slots) }
        let flow = Self.flow(1)
        share.note([flow])
        var fence: Int64 = 0
        let now = ContinuousClock.now
        var counts: [Int] = []
        for _ in 0..<4 {
            let grants = share.grants(256, at: now)
            counts += grants.map(\.count)
            for claim in Self.take(grants, from: [flow], in: &share, fence: &fence) {
                share.ended(claim.fence, bytes: 1, at: now)
            }
        }
        #expect(counts == [6, 12, 18, 18])
    }

    @Test func flowsAreRememberedUpToABound() {
        var share = Self.share { $0.flowsMax = 10 }
        share.note((0..<100).map { Self.flow($0) })
        #expect(share.waitingCount == 10)
        #expect(share.isFull)
    }

    /// Random arrivals, ends, losses of shards and foreign tasks.
    ///
    /// No cap is ever exceeded, nobody who has room waits forever, and nothing is left over at the
    /// end.
    @Test(arguments: 0..<1000 as Range<UInt64>)
    func holdsItsCapsWhateverHappens(seed: UInt64) {
        var generator = SeededGenerator(state: seed)
        let slots = Int.random(in: 1...24, using: &generator)
        let perHost = Int.random(in: 1...5, using: &generator)
        var share = Self.share {
            $0.slots = slots
            $0.perHost = perHost
            $0.flowsMax = 16
        }
        let flows = (0..<12).map { _ in
            Self.flow(
                Int64.random(in: 0..<5, using: &generator) << 60,
                tenant: Int.random(in: 0..<3, using: &generator),
                perHost: Bool.random(using: &generator)
                    ? Int.random(in: 1...3, using: &generator) : nil,
                isDiscretionary: Int.random(in: 0..<4, using: &generator) == 0
            )
        }
        var rest = flows.map { _ in Int.random(in: 0...30, using: &generator) }
        var running: [TaskClaim] = []
        var foreign: [Flow: Int] = [:]
        var fence: Int64 = 0
        var steps = 0
        while rest.contains(where: { $0 > 0 }) || !running.isEmpty {
            steps += 1
            // Towards the end nobody else is there and everything is its own.
            let isCalm = steps > 200
            if isCalm || Int.random(in: 0..<10, using: &generator) == 0 {
                let shards = Shard.all.filter { _ in isCalm || Bool.random(using: &generator) }
                foreign = [:]
                if !isCalm, let details = flows.randomElement(using: &generator) {
                    foreign[details.flow] = Int.random(in: 0...2, using: &generator)
                }
                share.own(Set(shards), foreign: foreign)
            }
            share.note(zip(flows, rest).filter { $0.1 > 0 }.map(\.0))
            let grants = share.grants(8, isOpenHour: isCalm)
            var claims: [TaskClaim] = []
            for grant in grants {
                guard let index = flows.firstIndex(where: { $0.flow == grant.flow }) else {
                    continue
                }
                #expect(share.shards.contains(grant.flow.hostKey.shard))
                for _ in 0..<min(grant.count, rest[index]) {
                    fence += 1
                    rest[index] -= 1
                    claims.append(Self.claim(fence, of: flows[index]))
                }
            }
            share.took(claims, of: grants)
            running += claims
            let shares = SlotShares(slots: slots)
            #expect(running.count <= shares.total)
            for tenant in Self.tenants {
                #expect(running.count { $0.tenant == tenant } <= slots)
            }
            for claim in claims {
                let atHost = running.count { $0.hostKey == claim.hostKey }
                let others = foreign.filter { $0.key.hostKey == claim.hostKey }.values.reduce(0, +)
                #expect(atHost + others <= perHost)
                let cap = flows.first { $0.flow == claim.flow }?.maxConnectionsPerHost
                let inFlow = running.count { $0.flow == claim.flow }
                #expect(inFlow + foreign[claim.flow, default: 0] <= cap ?? .max)
            }
            running.removeAll { claim in
                guard Bool.random(using: &generator) else { return false }
                let bytes = Int64.random(in: 0...10_000_000, using: &generator)
                share.moved(claim.fence, bytes: bytes / 2)
                share.ended(claim.fence, bytes: bytes)
                return true
            }
            guard steps < 2000 else {
                Issue.record("tasks are left over")
                return
            }
        }
        #expect(share.held.isEmpty)
    }
}
