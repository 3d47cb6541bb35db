import PollLoop
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5)))
struct PollLoopTimerTests {
    @Test func firesInOrderOfDeadlines() async throws {
        let loop = try PollLoop(name: "timers")
        defer { loop.stop() }
        let seen = Mutex<[Int]>([])
        await withCheckedContinuation { continuation in
            loop.execute {
                for number in [3, 1, 4, 2, 5] {
                    loop.schedule(after: .milliseconds(number * 5)) {
                        seen.withLock { $0.append(number) }
                        if number == 5 { continuation.resume() }
                    }
                }
            }
        }
        #expect(seen.withLock { $0 } == [1, 2, 3, 4, 5])
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
        let seen = Mutex<[Int]>([])
        await withCheckedContinuation { continuation in
            loop.execute {
                for number in (1...20).reversed() {
                    loop.schedule(after: .milliseconds(number)) {
                        seen.withLock { $0.append(number) }
                        if number == 20 { continuation.resume() }
                    }
                }
                for _ in 0..<10_000 { loop.cancel(loop.schedule(after: .seconds(3600)) {}) }
            }
        }
        #expect(seen.withLock { $0 } == Array(1...20))
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
