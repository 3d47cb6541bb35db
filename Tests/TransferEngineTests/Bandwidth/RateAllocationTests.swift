import Foundation
import Testing
import TransferEngine
import TransferModel
import TransferTestSupport

/// The division of limits among the transfers that share them.
@Suite struct RateAllocationTests {
    private static let sessions = (0..<6).map { _ in SessionID(UUID()) }
    private static let tenants = (0..<3).map { _ in TenantID(UUID()) }

    /// Transfers with random limits; the sessions belong to tenants in turn.
    private struct Case {
        var transfers: [RateAllocation.Transfer] = []
        var limits: [RateOwner: Int64] = [:]

        init(seed: UInt64, hasDemands: Bool) {
            var random = SeededGenerator(state: seed)
            let scale: Int64 = [3, 1000, 1 << 40].randomElement(using: &random) ?? 1
            for session in RateAllocationTests.sessions where Bool.random(using: &random) {
                limits[.session(session)] = .random(in: 0...scale, using: &random)
            }
            for tenant in RateAllocationTests.tenants where Bool.random(using: &random) {
                limits[.tenant(tenant)] = .random(in: 0...scale, using: &random)
            }
            for _ in 0..<Int.random(in: 0...40, using: &random) {
                let place = Int.random(in: 0..<RateAllocationTests.sessions.count, using: &random)
                var transfer = RateAllocation.Transfer(
                    session: RateAllocationTests.sessions[place],
                    tenant: RateAllocationTests.tenants[place % 3]
                )
                if Int.random(in: 0..<3, using: &random) == 0 {
                    transfer.limit = .random(in: 1...scale, using: &random)
                }
                if hasDemands, Bool.random(using: &random) {
                    transfer.demand = .random(in: 0...scale, using: &random)
                }
                transfers.append(transfer)
            }
        }

        var rates: [Int64?] { RateAllocation.rates(of: transfers, limits: limits) }

        /// The limits, each with the transfers that share it.
        var groups: [(limit: Int64, members: [Int])] {
            limits.map { owner, limit in
                let members = transfers.indices.filter { index in
                    switch owner {
                    case .session(let session): transfers[index].session == session
                    case .tenant(let tenant): transfers[index].tenant == tenant
                    }
                }
                return (limit, members)
            }
        }
    }

    private static let cases = (0..<300 as Range<UInt64>).map {
        Case(seed: $0, hasDemands: $0 % 2 == 0)
    }

    private func session(_ count: Int, _ limit: Int64, _ demands: [Int64?] = []) -> [Int64?] {
        var transfers = Array(
            repeating: RateAllocation.Transfer(
                session: Self.sessions[0],
                tenant: Self.tenants[0]
            ),
            count: count
        )
        for (index, demand) in demands.enumerated() { transfers[index].demand = demand }
        return RateAllocation.rates(
            of: transfers,
            limits: [.session(Self.sessions[0]): limit]
        )
    }

    @Test func aLimitIsDividedEvenly() {
        #expect(session(1, 1000) == [1000])
        #expect(session(3, 1000) == [334, 333, 333])
        #expect(session(3, 2) == [1, 1, 0])
        #expect(session(2, 0) == [0, 0])
        #expect(session(0, 1000) == [])
    }

    @Test func whatOneDoesNotUseGoesToTheOthers() {
        #expect(session(3, 1000, [100]) == [100, 450, 450])
        #expect(session(2, 1000, [0]) == [0, 1000])
        // Nobody is restricted to its demand when nothing is scarce.
        #expect(session(2, 1000, [100, 300]) == [400, 600])
    }

    @Test func onlyALimitOfItsOwnHoldsWhoSharesNone() {
        let other = RateAllocation.Transfer(
            session: Self.sessions[1],
            tenant: Self.tenants[1],
            limit: 7,
            demand: 1
        )
        var free = other
        free.limit = nil
        let rates = RateAllocation.rates(
            of: [other, free],
            limits: [.session(Self.sessions[0]): 10, .tenant(Self.tenants[0]): 10]
        )
        #expect(rates == [7, nil])
    }

    @Test func noLimitIsExceeded() {
        for test in Self.cases {
            let rates = test.rates
            for (rate, transfer) in zip(rates, test.transfers) {
                #expect(rate ?? .max <= transfer.limit ?? .max)
                #expect(rate ?? 0 >= 0)
            }
            for (limit, members) in test.groups where !members.isEmpty {
                #expect(members.allSatisfy { rates[$0] != nil })
                #expect(members.reduce(0) { $0 + (rates[$1] ?? 0) } <= limit)
            }
        }
    }

    /// Max–min fairness in its usual form.
    ///
    /// Each transfer that gets less than it could use has a bottleneck: a limit that is used up and
    /// of which nobody has more.
    @Test func whoGetsLessThanItCouldUseHasABottleneck() {
        for test in Self.cases {
            let rates = test.rates.map { $0 ?? .max }
            for (index, transfer) in test.transfers.enumerated()
            where rates[index] < min(transfer.limit ?? .max, transfer.demand ?? .max) {
                let hasBottleneck = test.groups.contains { limit, members in
                    members.contains(index)
                        && members.reduce(0) { $0 + rates[$1] } == limit
                        // A remainder makes a difference of one byte on each of the two levels.
                        && members.allSatisfy { rates[$0] <= rates[index] + 2 }
                }
                #expect(hasBottleneck)
            }
        }
    }

    @Test func nothingOfALimitIsLeftThatSomebodyCouldUse() {
        for test in Self.cases {
            let rates = test.rates.map { $0 ?? .max }
            let spent = test.groups.filter { limit, members in
                members.reduce(0) { $0 + rates[$1] } == limit
            }
            for (index, transfer) in test.transfers.enumerated()
            where rates[index] < transfer.limit ?? .max {
                #expect(spent.contains { $0.members.contains(index) })
            }
        }
    }
}
