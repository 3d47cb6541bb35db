import Dispatch
import PollLoop
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct BlockingPoolTests {
    /// A gate that holds back its waiters until it is opened.
    private final class Gate: Sendable {
        private let group = DispatchGroup()
        init() { group.enter() }
        func wait() { group.wait() }
        func open() { group.leave() }
    }

    /// Performs `work` and returns once it is done.
    private static func done(
        _ pool: BlockingPool<String>,
        for key: String,
        part: String? = nil,
        _ work: @escaping @Sendable () -> Void = {}
    ) async {
        await withCheckedContinuation { continuation in
            pool.run(for: key, part: part) {
                work()
                continuation.resume()
            }
        }
    }

    @Test func whatHangsForOneKeyLeavesTheOthersAThread() async throws {
        let pool = try BlockingPool<String>(name: "pool-test", threadsMax: 4)
        let gate = Gate()
        defer { gate.open() }
        for _ in 0..<1000 { pool.run(for: "hangs") { gate.wait() } }
        for _ in 0..<100 { await Self.done(pool, for: "other") }
        #expect(pool.load.threads == 4)
        #expect(pool.load.waiting == 997)
    }

    @Test func whatHangsForSomeKeysLeavesTheOthersAThread() async throws {
        let pool = try BlockingPool<String>(name: "pool-test", threadsMax: 16, perKeyMax: 8)
        let gate = Gate()
        defer { gate.open() }
        for _ in 0..<20 { pool.run(for: "hangs") { gate.wait() } }
        #expect(pool.load.busy == 8)
        for _ in 0..<20 { pool.run(for: "hangs too") { gate.wait() } }
        try #require(pool.load.busy == 12)
        for _ in 0..<100 { await Self.done(pool, for: "other") }
        #expect(pool.load.waiting == 28)
    }

    @Test func whatHangsForSomePartsLeavesTheOthersOfTheirKeyAThread() async throws {
        let pool = try BlockingPool<String>(
            name: "pool-test",
            threadsMax: 16,
            perKeyMax: 8,
            perPartMax: 6
        )
        let gate = Gate()
        defer { gate.open() }
        for _ in 0..<20 { pool.run(for: "key", part: "hangs") { gate.wait() } }
        #expect(pool.load.busy == 6)
        for _ in 0..<20 { pool.run(for: "key", part: "hangs too") { gate.wait() } }
        try #require(pool.load.busy == 7)
        for _ in 0..<100 { await Self.done(pool, for: "key", part: "other") }
        #expect(pool.load.waiting == 33)
        while pool.load.busy > 7 { await Task.yield() }
        // Parts, however many, have no more than their key.
        for number in 0..<20 { pool.run(for: "key", part: "\(number)") { gate.wait() } }
        await Self.done(pool, for: "other key")
        #expect(pool.load.waiting == 33 + 19)
    }

    @Test func thePartsOfAKeyTakeTurns() async throws {
        let pool = try BlockingPool<String>(name: "pool-test", threadsMax: 1)
        let order = Mutex<[String]>([])
        let gate = Gate()
        pool.run(for: "a", part: "1") { gate.wait() }
        for number in 0..<3 {
            pool.run(for: "a", part: "1") { order.withLock { $0.append("a1 \(number)") } }
        }
        pool.run(for: "a", part: "2") { order.withLock { $0.append("a2") } }
        pool.run(for: "b") { order.withLock { $0.append("b") } }
        gate.open()
        await Self.done(pool, for: "a", part: "1")
        // Many parts give their key no further turns.
        #expect(order.withLock { $0 } == ["a1 0", "b", "a2", "a1 1", "a1 2"])
    }

    @Test func aKeyHasTheThreadThatItsOwnEndsSetFree() async throws {
        let pool = try BlockingPool<String>(name: "pool-test", threadsMax: 3, perKeyMax: 2)
        let (ending, hanging) = (Gate(), Gate())
        defer { hanging.open() }
        for _ in 0..<2 { pool.run(for: "ends") { ending.wait() } }
        for _ in 0..<2 { pool.run(for: "hangs") { hanging.wait() } }
        try #require(pool.load.busy == 3 && pool.load.waiting == 1)
        // The second end leaves two threads, one for each of the keys that wait.
        await withCheckedContinuation { continuation in
            pool.run(for: "ends") { continuation.resume() }
            ending.open()
        }
    }

    @Test func allThatWasAskedForIsDoneInTheOrderOfItsKey() async throws {
        let pool = try BlockingPool<String>(name: "pool-test", threadsMax: 1)
        let order = Mutex<[String]>([])
        let gate = Gate()
        pool.run(for: "a") { gate.wait() }
        for number in 0..<3 {
            pool.run(for: "a") { order.withLock { $0.append("a\(number)") } }
        }
        pool.run(for: "b") { order.withLock { $0.append("b0") } }
        gate.open()
        await Self.done(pool, for: "c")
        await Self.done(pool, for: "a")
        // A later caller does not wait for everything that others have requested before.
        #expect(order.withLock { $0 } == ["a0", "b0", "a1", "a2"])
    }

    @Test func hasNoMoreThreadsThanItNeeds() async throws {
        let pool = try BlockingPool<Int>(name: "pool-test", threadsMax: 8)
        #expect(pool.load.threads == 1)
        for key in 0..<100 {
            await withCheckedContinuation { continuation in
                pool.run(for: key) { continuation.resume() }
            }
            // The work is done a moment before its thread is free again.
            while pool.load.busy > 0 { await Task.yield() }
        }
        #expect(pool.load.threads <= 2)
        let gates = (0..<20).map { _ in Gate() }
        let begun = DispatchSemaphore(value: 0)
        for (key, gate) in gates.enumerated() {
            pool.run(for: key) {
                begun.signal()
                gate.wait()
            }
        }
        #expect(pool.load.threads == 8)
        for gate in gates { gate.open() }
    }
}
