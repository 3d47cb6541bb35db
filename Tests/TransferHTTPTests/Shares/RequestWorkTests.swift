import Foundation
import PollLoop
import Synchronization
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferHTTP

@Suite(.timeLimit(.minutes(1))) struct RequestWorkTests {
    private let flood = TenantID(UUID())
    private let quiet = TenantID(UUID())

    private static let few = 3

    /// Work of which no tenant may have more than a few beside others.
    private func limited(beside presence: TenantPresence = TenantPresence()) -> RequestWork {
        RequestWork(limit: WorkLimit(min: Self.few, max: Self.few), beside: presence) { .unknown }
    }

    @Test func aTenantAloneHasAsManyAsItSends() async {
        let work = limited()
        for _ in 0..<100 { await work.begin(of: flood) }
        #expect(work.waiting(of: flood) == 0)
    }

    @Test func besideAnotherItHasAFewAndTheOthersAreServedInTheirOrder() async throws {
        // Somebody else is there however long it takes.
        let presence = TenantPresence()
        presence.note(TenantID(UUID()), at: .now + .seconds(600))
        let work = limited(beside: presence)
        let order = Shared<[Int]>([])
        await work.begin(of: quiet)
        for _ in 0..<Self.few { await work.begin(of: flood) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...3 {
                group.addTask {
                    await work.begin(of: flood)
                    order.value.withLock { $0.append(number) }
                }
                try await eventually("\(number) waits") { work.waiting(of: flood) == number }
            }
            // The other tenant's next request does not wait for them.
            await work.begin(of: quiet)
            for number in 1...3 {
                #expect(work.waiting(of: flood) == 4 - number)
                work.end(of: flood)
                try await eventually("\(number) is served") {
                    order.value.withLock { $0 == Array(1...number) }
                }
            }
            try await group.waitForAll()
        }
        #expect(work.waiting(of: flood) == 0)
    }

    /// Whoever sends small requests is there for whoever sends large ones.
    @Test func anotherTenantsOtherRequestsCountToo() async throws {
        let presence = TenantPresence()
        let (small, large) = (limited(beside: presence), limited(beside: presence))
        let before = ContinuousClock.now
        await small.begin(of: quiet)
        #expect(!presence.isAlone(flood, at: before))
        // It stays there however long the rest takes.
        presence.note(quiet, at: .now + .seconds(600))
        for _ in 0..<Self.few { await large.begin(of: flood) }
        let next = Task { await large.begin(of: flood) }
        try await eventually("a large one waits") { large.waiting(of: flood) == 1 }
        large.end(of: flood)
        await next.value
    }

    @Test func aTenantIsThereForASecond() {
        let presence = TenantPresence()
        let start = ContinuousClock.now
        #expect(presence.isAlone(flood, at: start))
        presence.note(flood, at: start)
        #expect(presence.isAlone(flood, at: start))
        #expect(!presence.isAlone(quiet, at: start))
        presence.note(quiet, at: start + .seconds(2))
        presence.note(flood, at: start + .seconds(3))
        #expect(!presence.isAlone(flood, at: start + .seconds(3)))
        presence.note(flood, at: start + .seconds(4))
        #expect(presence.isAlone(flood, at: start + .milliseconds(3001)))
        #expect(!presence.isAlone(quiet, at: start + .seconds(4)))
    }

    @Test func itIsLimitedOnlyWhileTheProcessorsAreBusy() async throws {
        let ticks = Shared(0)
        let isBusy = Shared(false)
        let work = RequestWork(limit: WorkLimit(min: 2, max: 16), beside: TenantPresence()) {
            let all = ticks.value.withLock { ticks in
                ticks += 100
                return ticks
            }
            let idle = isBusy.value.withLock { $0 } ? 0 : all
            return ProcessorUse(machine: ProcessorTimes(idle: idle, all: all), groups: [])
        }
        await work.begin(of: quiet)
        for _ in 0..<16 { await work.begin(of: flood) }
        #expect(work.waiting(of: flood) == 0)
        isBusy.value.withLock { $0 = true }
        // Each look at the processors takes an interval.
        try await eventually("a request waits") {
            work.end(of: flood)
            let next = Task { await work.begin(of: flood) }
            await work.begin(of: quiet)
            work.end(of: quiet)
            return await hasToWait(next, work)
        }
        for _ in 0..<16 { work.end(of: flood) }
        #expect(work.waiting(of: flood) == 0)
    }

    /// Returns whether `task` waits for the flood's turn, or else waits until it has begun.
    private func hasToWait(_ task: Task<Void, Never>, _ work: RequestWork) async -> Bool {
        let hasBegun = Shared(false)
        Task {
            await task.value
            hasBegun.value.withLock { $0 = true }
        }
        while true {
            if hasBegun.value.withLock({ $0 }) { return false }
            if work.waiting(of: flood) > 0 { return true }
            await Task.yield()
        }
    }

    /// Otherwise two small requests that turn out to be large would wait for each other.
    @Test func whatBecomesLargeIsSmallNoLonger() async {
        let shared = SharedResources(bodyBytesMax: 1 << 20) { .unknown }
        let resources = [quiet, flood, flood].map {
            RequestResources(of: shared, for: $0, bodyTimeout: .seconds(1))
        }
        for own in resources { await own.beginWork() }
        for own in resources {
            await own.beginWork(isLarge: true)
            // What it has is counted once, and given back once.
            await own.beginWork()
        }
        #expect(shared.smallWork.inHand(of: flood) == 0)
        #expect(shared.largeWork.inHand(of: flood) == 2)
        for own in resources + resources { own.pauseWork() }
        #expect(shared.largeWork.inHand(of: flood) == 0)
    }

    @Test func whoWaitsForNewsIsNotWorkedOn() async throws {
        let shared = SharedResources(bodyBytesMax: 1 << 20) { .unknown }
        let waiting = RequestResources(of: shared, for: flood, bodyTimeout: .seconds(1))
        await waiting.beginWork()
        #expect(shared.smallWork.inHand(of: flood) == 1)
        try RequestResources.$current.withValue(waiting) {
            _ = try ReaderSlots(perTenantMax: 1, max: 1).take(for: flood)
        }
        #expect(shared.smallWork.inHand(of: flood) == 0)
    }

    /// Also of one that is never answered.
    @Test func whatIsNoLongerThereIsNotWorkedOn() async {
        let shared = SharedResources(bodyBytesMax: 1 << 20) { .unknown }
        await RequestResources(of: shared, for: flood, bodyTimeout: .seconds(1)).beginWork()
        #expect(shared.smallWork.inHand(of: flood) == 0)
    }
}
