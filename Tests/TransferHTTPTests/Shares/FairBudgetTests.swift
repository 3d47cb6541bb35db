import Foundation
import Synchronization
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferHTTP

@Suite(.timeLimit(.minutes(1))) struct FairBudgetTests {
    private let first = TenantID(UUID())
    private let second = TenantID(UUID())

    @Test func aTenantGetsItsPart() {
        let budget = FairBudget(.answerBytes, max: 10, perTenantMax: 4)
        #expect(budget.takeNow(3, for: first))
        #expect(!budget.takeNow(2, for: first))
        #expect(budget.takeNow(1, for: first))
        #expect(budget.takeNow(4, for: second))
        budget.giveBack(4, of: first)
        // Over its share, because it has nothing else.
        #expect(budget.takeNow(6, for: first))
        #expect(budget.taken == 10)
    }

    @Test func whoIsAloneGetsMore() {
        let presence = TenantPresence()
        let now = ContinuousClock.now
        let budget = FairBudget(.submissions, max: 4, perTenantMax: 1, alone: (3, presence))
        presence.note(first, at: now)
        #expect(budget.takeNow(1, for: first))
        #expect(budget.takeNow(2, for: first))
        // Something is left for whoever comes.
        #expect(!budget.takeNow(1, for: first))
        // It stays there however long the rest takes.
        presence.note(second, at: now + .seconds(600))
        #expect(budget.takeNow(1, for: second))
        budget.giveBack(1, of: first)
        #expect(!budget.takeNow(1, for: first))
        budget.giveBack(1, of: second)
        budget.giveBack(2, of: first)
        presence.note(first, at: now)
        #expect(budget.takeNow(1, for: first))
        #expect(!budget.takeNow(1, for: first))
    }

    @Test func whatIsLargerThanAllIsServedAlone() {
        let budget = FairBudget(.submissionBytes, max: 10, perTenantMax: 0)
        #expect(budget.takeNow(20, for: first))
        #expect(!budget.takeNow(1, for: second))
        budget.giveBack(20, of: first)
        #expect(budget.takeNow(1, for: second))
    }

    /// A tenant whose share is taken holds up nobody, and small requests do not starve a large one.
    @Test func thoseWhoWaitAreServedInTheirOrder() async throws {
        let budget = FairBudget(.answerBytes, max: 10, perTenantMax: 6, waitMax: .seconds(50))
        #expect(budget.takeNow(6, for: first))
        let served = Shared<[String]>([])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (name, tenant, count) in [("own", first, 3), ("much", second, 7)] {
                group.addTask {
                    if await budget.take(count, for: tenant) {
                        served.value.withLock { $0.append(name) }
                    }
                }
                try await eventually("\(name) waits") { budget.waiting == (name == "own" ? 1 : 2) }
            }
            // There is room for the second, but it is the turn of who waits for more.
            for count in [5, 3] { #expect(!budget.takeNow(count, for: TenantID(UUID()))) }
            budget.giveBack(6, of: first)
            try await group.waitForAll()
        }
        #expect(budget.taken == 10)
        #expect(served.value.withLock { $0.count } == 2)
    }

    /// What goes on is not broken off for the sake of those who wait for its end.
    @Test func aShareGrowsBesideThoseWhoWait() async throws {
        let budget = FairBudget(.submissionBytes, max: 10, perTenantMax: 6, waitMax: .seconds(50))
        let share = BudgetShare(of: budget, for: first)
        let other = BudgetShare(of: budget, for: TenantID(UUID()))
        #expect(share.takeIfThere(4))
        try await withThrowingTaskGroup(of: Bool.self) { [second] group in
            group.addTask { await budget.take(7, for: second) }
            try await eventually("it waits") { budget.waiting == 1 }
            #expect(!other.takeIfThere(2))
            #expect(share.takeIfThere(2))
            // What has arrived already has nowhere to wait.
            try other.takeNow(1)
            share.shrink(to: 0)
            let isServed = try await group.next()
            #expect(isServed == true)
        }
        #expect(budget.taken == 8)
    }

    @Test func whoGivesUpHoldsUpNobodyAnyLonger() async throws {
        let budget = FairBudget(.answerBytes, max: 10, perTenantMax: 6, waitMax: .seconds(50))
        #expect(budget.takeNow(6, for: first))
        let large = Task { [second] in await budget.take(7, for: second) }
        try await eventually("the large one waits") { budget.waiting == 1 }
        let small = Task { await budget.take(3, for: TenantID(UUID())) }
        try await eventually("the small one waits") { budget.waiting == 2 }
        large.cancel()
        #expect(await !large.value)
        #expect(await small.value)
        #expect(budget.taken == 9)
    }

    @Test func nobodyWaitsForEver() async {
        let budget = FairBudget(
            .answerBytes,
            max: 1,
            perTenantMax: 1,
            waitMax: .milliseconds(20)
        )
        #expect(budget.takeNow(1, for: first))
        #expect(await !budget.take(1, for: second))
        #expect(budget.waiting == 0)
    }

    /// Runs `work` as a large submission, again and again until it has its turn in time.
    private static func submitting(_ work: () async -> Void) async throws {
        while true {
            do {
                return try await RequestResources.submitting(2_000_000, work)
            } catch is Problem {
                try Task.checkCancellation()
            }
        }
    }

    /// Each tenant has one large submission at a time, beside one of another tenant.
    @Test func largeSubmissionsOfATenantAreOneAfterTheOther() async throws {
        let shared = SharedResources(bodyBytesMax: 1 << 20)
        let running = Shared<[TenantID: Int]>([:])
        let most = Shared(0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for tenant in [first, first, first, second] {
                group.addTask {
                    let own = RequestResources(of: shared, for: tenant, bodyTimeout: .seconds(1))
                    try await RequestResources.$current.withValue(own) {
                        try await Self.submitting {
                            let count = running.value.withLock { running in
                                running[tenant, default: 0] += 1
                                return running[tenant, default: 0]
                            }
                            most.value.withLock { $0 = max($0, count) }
                            for _ in 0..<10 { await Task.yield() }
                            running.value.withLock { $0[tenant, default: 0] -= 1 }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(most.value.withLock { $0 } == 1)
        #expect(shared.submissions.taken == 0)
    }
}
