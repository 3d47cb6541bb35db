import Testing

@testable import FaultProxy

@Suite
struct FaultQueueTests {
    private let start = ContinuousClock.now

    private func after(_ milliseconds: Int) -> ContinuousClock.Instant {
        start + .milliseconds(milliseconds)
    }

    /// Returns a step in words; times in milliseconds since the start.
    private func step(_ queue: FaultQueue, at milliseconds: Int) -> String {
        switch queue.step(at: after(milliseconds)) {
        case .write(let count): "write \(count)"
        case .wait(let time): "wait \(Int(((time - start) / .milliseconds(1)).rounded()))"
        case .starve: "starve"
        case .finish: "finish"
        case .fail(.reset): "reset"
        case .fail(.close): "close"
        case .fail(.stall): "stall"
        case .done: "done"
        }
    }

    private func queue(_ change: (inout Faults.Stream) -> Void = { _ in }) -> FaultQueue {
        var faults = Faults.Stream()
        change(&faults)
        return FaultQueue(faults)
    }

    @Test func passesEverythingWithoutFaults() {
        var queue = queue()
        #expect(step(queue, at: 0) == "starve")
        queue.add([1, 2, 3], at: start)
        #expect(step(queue, at: 0) == "write 3")
        queue.written(2, at: start)
        #expect(queue.withFront { Array($0) } == [3])
        queue.written(1, at: start)
        queue.add([], at: start)
        #expect(step(queue, at: 0) == "finish")
        queue.end()
        #expect(step(queue, at: 0) == "done")
        #expect(queue.room == 0)
    }

    @Test func delaysBytesAndEnd() {
        var queue = queue { $0.delay = .milliseconds(50) }
        queue.add([1], at: after(10))
        queue.add([2], at: after(20))
        queue.add([], at: after(30))
        #expect(step(queue, at: 59) == "wait 60")
        #expect(step(queue, at: 60) == "write 1")
        queue.written(1, at: after(60))
        #expect(step(queue, at: 60) == "wait 70")
        queue.written(1, at: after(75))
        #expect(step(queue, at: 75) == "wait 80")
        #expect(step(queue, at: 80) == "finish")
    }

    @Test func keepsRate() {
        var queue = queue { $0.rate = 1_000_000 }
        var (now, passed) = (0, 0)
        while now < 10_000 {
            if queue.room > 0 { queue.add([UInt8](repeating: 0, count: 10_000), at: after(now)) }
            switch queue.step(at: after(now)) {
            case .write(let count):
                queue.written(count, at: after(now))
                passed += count
            default:
                now += 1
            }
        }
        #expect((9_900_000...10_020_000).contains(passed))
    }

    @Test func slicesWrites() {
        var queue = queue { $0.sliceBytesMax = 2 }
        queue.add([1, 2, 3], at: start)
        #expect(step(queue, at: 0) == "write 2")
        queue.written(2, at: start)
        #expect(step(queue, at: 0) == "write 1")
    }

    @Test(arguments: [
        (Faults.End.reset(after: 2), "reset"), (.close(after: 2), "close"),
        (.stall(after: 2), "stall"),
    ])
    func failsAfterBytes(end: Faults.End, name: String) {
        var queue = queue { $0.end = end }
        queue.add([1, 2, 3], at: start)
        #expect(step(queue, at: 0) == "write 2")
        queue.written(2, at: start)
        #expect(step(queue, at: 0) == name)
    }

    @Test func failsAtOnceAfterNothing() {
        #expect(step(queue { $0.end = .stall(after: 0) }, at: 0) == "stall")
    }

    @Test func holdsOnlySoMuch() {
        var queue = queue { $0.delay = .seconds(1) }
        while queue.room > 0 { queue.add([UInt8](repeating: 0, count: 1 << 20), at: start) }
        // The bytes that one second of delay keeps on their way, and no more.
        #expect(step(queue, at: 0) == "wait 1000")
        #expect(queue.room == 0)
    }
}
