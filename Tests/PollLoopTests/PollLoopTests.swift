import PollLoop
import Glibc
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5)))
struct PollLoopTests {
    @Test func executesInOrderOfCalls() async throws {
        let loop = try PollLoop(name: "order")
        defer { loop.stop() }
        let seen = Mutex<[Int]>([])
        await withCheckedContinuation { continuation in
            for number in 0..<1000 { loop.execute { seen.withLock { $0.append(number) } } }
            loop.execute { continuation.resume() }
        }
        #expect(seen.withLock { $0 } == Array(0..<1000))
    }

    @Test func executesWhatManyThreadsPost() async throws {
        let loop = try PollLoop(name: "many")
        defer { loop.stop() }
        let count = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<500 { group.addTask { await loop.run { 1 } } }
            return await group.reduce(0, +)
        }
        #expect(count == 500)
    }

    @Test func runsOnItsOwnThreadOnly() async throws {
        let loop = try PollLoop(name: "thread")
        defer { loop.stop() }
        #expect(!loop.isOnLoop)
        #expect(await loop.run { loop.isOnLoop })
    }

    @Test func executesActorThatIsConfinedToIt() async throws {
        let loop = try PollLoop(name: "actor")
        defer { loop.stop() }
        let counter = Counter(loop: loop)
        await withTaskGroup { group in
            for _ in 0..<200 { group.addTask { #expect(await counter.increment()) } }
        }
        #expect(await counter.count == 200)
        // Code on the loop may enter the actor without waiting.
        #expect(await loop.run { counter.assumeIsolated { $0.count } } == 200)
    }

    /// What a closure holds may be an open file, and the loop may have nothing to do for hours.
    @Test func anIdleLoopHoldsNothingOfWhatItHasDone() async throws {
        final class Held: Sendable {
            let onRelease: @Sendable () -> Void
            init(_ onRelease: @escaping @Sendable () -> Void) { self.onRelease = onRelease }
            deinit { onRelease() }
        }
        let loop = try PollLoop(name: "idle")
        defer { loop.stop() }
        await withCheckedContinuation { continuation in
            let held = Held { continuation.resume() }
            loop.execute { withExtendedLifetime(held) {} }
        }
        #expect(!loop.isOnLoop)
    }

    @Test func workBeforeStopIsDone() async throws {
        let loop = try PollLoop(name: "stop")
        await withCheckedContinuation { continuation in
            loop.execute { continuation.resume() }
            loop.stop()
        }
        // The thread may have ended by now; neither call reaches anybody.
        loop.stop()
        loop.execute {}
    }

    @Test func givesItsDescriptorsBack() async throws {
        await #expect(processExitsWith: .success) {
            let before = openDescriptors()
            for _ in 0..<50 {
                let loop = try PollLoop(name: "descriptors")
                await loop.run {}
                loop.stop()
            }
            // The threads end on their own; their last act is to release the loop. A leak would be
            // of a hundred; the runtime may have opened a few of its own meanwhile.
            while openDescriptors() > before + 10 { sched_yield() }
        }
    }

    @Test func blocksSignalsOnItsThread() async throws {
        let loop = try PollLoop(name: "signals")
        defer { loop.stop() }
        let isBlocked = await loop.run {
            var mask = sigset_t()
            pthread_sigmask(SIG_SETMASK, nil, &mask)
            return sigismember(&mask, SIGPIPE) == 1
        }
        #expect(isBlocked)
    }
}

/// A counter on a loop's thread, which says whether it ran there.
private actor Counter {
    private let loop: PollLoop
    private(set) var count = 0

    init(loop: PollLoop) { self.loop = loop }

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    func increment() -> Bool {
        count += 1
        return loop.isOnLoop
    }
}

private func openDescriptors() -> Int {
    (0..<1024).count { fcntl($0, F_GETFD) >= 0 }
}
