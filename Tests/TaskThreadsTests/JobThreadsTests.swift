import Foundation
import Synchronization
import Testing
import TransferTestSupport

@testable import TaskThreads

@Suite struct JobThreadsTests {
    /// The jobs that threads have run, in their order.
    private final class Record: Sendable {
        private let jobs = Mutex<[Int]>([])

        var all: [Int] { jobs.withLock { $0 } }

        func add(_ job: Int) { jobs.withLock { $0.append(job) } }
    }

    @Test func eachJobRunsOnceWhoeverAddsIt() async throws {
        let record = Record()
        let threads = try JobThreads<Int>(count: 3) { record.add($0) }
        let each = 20_000
        for adder in 0..<4 {
            Thread.detachNewThread {
                for number in 0..<each { threads.add(adder * each + number) }
            }
        }
        try await eventually("all have run") { record.all.count >= 4 * each }
        #expect(record.all.sorted() == Array(0..<4 * each))
    }

    @Test func aThreadThatHasNothingToDoIsWoken() throws {
        let hasRun = DispatchSemaphore(value: 0)
        let threads = try JobThreads<Int>(count: 2) { _ in hasRun.signal() }
        for job in 0..<5000 {
            threads.add(job)
            try #require(hasRun.wait(timeout: .now() + 30) == .success)
        }
    }

    @Test func jobsBeginInTheirOrder() async throws {
        let record = Record()
        let threads = try JobThreads<Int>(count: 1) { record.add($0) }
        for job in 0..<1000 { threads.add(job) }
        try await eventually("all have run") { record.all.count == 1000 }
        #expect(record.all == Array(0..<1000))
    }

    @Test func aJobThatBlocksLeavesTheOthers() async throws {
        let record = Record()
        let isOver = DispatchSemaphore(value: 0)
        let threads = try JobThreads<Int>(count: 2) { job in
            if job == 0 { isOver.wait() }
            record.add(job)
        }
        for job in 0..<100 { threads.add(job) }
        try await eventually("the others have run") { record.all.count == 99 }
        #expect(!record.all.contains(0))
        isOver.signal()
        try await eventually("it has run") { record.all.last == 0 }
    }

    @Test func laterJobsRunAtTheirTimes() async throws {
        // Whoever is added when another's time is over may run after it: then all are added again.
        while try await !laterJobsAreAddedAndRunInTime() { try Task.checkCancellation() }
    }

    /// Lets jobs run later, none of them too early.
    ///
    /// - Returns: whether all had been added before the time of the second, so that their order had
    ///   to be that of their times.
    private func laterJobsAreAddedAndRunInTime() async throws -> Bool {
        let early = Record()
        let record = Record()
        let begin = Alarm.now
        let time = { @Sendable (job: Int) in begin + UInt64(job) * 1_000_000 }
        // Each job is its time in milliseconds from now on, and before the one that was added
        // before it.
        let threads = try JobThreads<Int>(count: 1) { job in
            if Alarm.now < time(job) { early.add(job) }
            record.add(job)
        }
        for job in [400, 300, 200, 100, 0] { threads.add(job, at: time(job)) }
        let isInTime = Alarm.now < time(100)
        try await eventually("all have run") { record.all.count == 5 }
        #expect(early.all == [])
        if isInTime { #expect(record.all == [0, 100, 200, 300, 400]) }
        return isInTime
    }

    @Test(arguments: [0, 1] as [UInt64])
    func whatIsOverdueRunsAtOnce(time: UInt64) async throws {
        let record = Record()
        let threads = try JobThreads<Int>(count: 1) { record.add($0) }
        threads.add(1, at: Alarm.now + 3_600_000_000_000)
        threads.add(2, at: .max)
        threads.add(3, at: time)
        try await eventually("it has run") { record.all == [3] }
    }

    @Test func manyDeadlinesAreAllKept() async throws {
        let record = Record()
        let threads = try JobThreads<Int>(count: 2) { record.add($0) }
        let begin = Alarm.now
        for job in 0..<50_000 { threads.add(job, at: begin + .random(in: 0..<500_000_000)) }
        try await eventually("all have run") { record.all.count >= 50_000 }
        #expect(record.all.sorted() == Array(0..<50_000))
    }

    @Test func aDelayEndsNotBeforeItsTime() {
        let before = Alarm.now
        #expect(Alarm.time(in: .seconds(2)) > before + 2_000_000_000)
        #expect(Alarm.time(in: .nanoseconds(1)) > before + 1)
        let past = Alarm.time(in: .seconds(-1))
        #expect(before <= past && past <= Alarm.now)
        #expect(Alarm.time(in: .seconds(Int64.max)) == .max)
    }
}
