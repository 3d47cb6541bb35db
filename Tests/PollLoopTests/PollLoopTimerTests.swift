import PollLoop
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5)))
struct PollLoopTimerTests {
    /// Sets timers of these delays in this order, and returns when each was due at the earliest and
    /// at the latest, in the order in which they fired.
    ///
    /// The loop's thread may be interrupted between two of them, so that the order of the delays
    /// need not be that of the deadlines.
    private static func fired(
        _ delays: [Duration],
        on loop: PollLoop,
        andThen next: @escaping @Sendable () -> Void = {}
    ) async -> [ClosedRange<ContinuousClock.Instant>] {
        let due = Mutex<[Int: ClosedRange<ContinuousClock.Instant>]>([:])
        let seen = Mutex<[Int]>([])
        await withCheckedContinuation { continuation in
            loop.execute {
                for (index, delay) in delays.enumerated() {
                    let before = ContinuousClock.now
                    loop.schedule(after: delay) {
                        let count = seen.withLock { seen in
                            seen.append(index)
                            return seen.count
                        }
                        if count == delays.count { continuation.resume() }
                    }
                    let after = ContinuousClock.now
                    due.withLock { $0[index] = before + delay...after + delay }
                }
                next()
            }
        }
        return due.withLock { due in seen.withLock { $0 }.compactMap { due[$0] } }
    }

    private static func isOrdered(_ due: [ClosedRange<ContinuousClock.Instant>]) -> Bool {
        zip(due, due.dropFirst()).allSatisfy { $0.lowerBound <= $1.upperBound }
    }

    @Test func firesInOrderOfDeadlines() async throws {
        let loop = try PollLoop(name: "timers")
        defer { loop.stop() }
        let due = await Self.fired([3, 1, 4, 2, 5].map { .milliseconds($0 * 5) }, on: loop)
        #expect(due.count == 5)
        #expect(Self.isOrdered(due))
    }

    @Test func aTimerThatIsLongDueEachTimeKeepsNothingElseWaiting() async throws {
        let loop = try PollLoop(name: "timers")
        defer { loop.stop() }
        let firesMax = 1000
        let fired = Atomic(0)
        let before: Int = await withCheckedContinuation { continuation in
            @Sendable func again() {
                let number = fired.add(1, ordering: .relaxed).newValue
                // Posted before the timer is due for the first time.
                if number == 1 {
                    loop.execute { continuation.resume(returning: fired.load(ordering: .relaxed)) }
                }
                if number < firesMax { loop.schedule(after: .seconds(-3600), again) }
            }
            loop.execute(again)
        }
        #expect(before < firesMax)
    }

    @Test func firesTimersOfOneInstantInOrderOfScheduling() async throws {
        let loop = try PollLoop(name: "timers")
        defer { loop.stop() }
        let seen = Mutex<[Int]>([])
        await withCheckedContinuation { continuation in
            loop.execute {
                for number in 0..<100 {
                    loop.schedule(after: .zero) { seen.withLock { $0.append(number) } }
                }
                loop.schedule(after: .zero) { continuation.resume() }
            }
        }
        #expect(seen.withLock { $0 } == Array(0..<100))
    }

    @Test func neverFiresEarly() async throws {
        let loop = try PollLoop(name: "timers")
        defer { loop.stop() }
        let delay = Duration.microseconds(2_700)
        let elapsed = await withCheckedContinuation { continuation in
            loop.execute {
                let started = ContinuousClock.now
                loop.schedule(after: delay) {
                    continuation.resume(returning: ContinuousClock.now - started)
                }
            }
        }
        #expect(elapsed >= delay)
    }

    @Test func cancelledTimerNeverFires() async throws {
        let loop = try PollLoop(name: "timers")
        defer { loop.stop() }
        let hasFired = Mutex(false)
        await withCheckedContinuation { continuation in
            loop.execute {
                let timer = loop.schedule(after: .milliseconds(1)) {
                    hasFired.withLock { $0 = true }
                }
                loop.schedule(after: .milliseconds(5)) { continuation.resume() }
                loop.cancel(timer)
                loop.cancel(timer)
            }
        }
        #expect(!hasFired.withLock { $0 })
    }

    @Test func sweepingCancelledTimersKeepsTheOthers() async throws {
        let loop = try PollLoop(name: "timers")
        defer { loop.stop() }
        let due = await Self.fired((1...20).reversed().map { .milliseconds($0) }, on: loop) {
            for _ in 0..<10_000 { loop.cancel(loop.schedule(after: .seconds(3600)) {}) }
        }
        #expect(due.count == 20)
        #expect(Self.isOrdered(due))
    }

    @Test func timerMayScheduleTheNext() async throws {
        let loop = try PollLoop(name: "timers")
        defer { loop.stop() }
        let count = Mutex(0)
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            @Sendable func again() {
                let isLast = count.withLock { count in
                    count += 1
                    return count == 50
                }
                guard !isLast else { return continuation.resume() }
                loop.schedule(after: .zero) { again() }
            }
            loop.execute { again() }
        }
        #expect(count.withLock { $0 } == 50)
    }
}
