import Testing
import TransferTestSupport

@testable import TransferStore

@Suite struct SubmissionBatcherTests {
    typealias Machine = SubmissionBatcher<String>

    private static let small = SubmissionSize(taskCount: 1, byteCount: 100)
    private static let begin = ContinuousClock.now

    private static func after(_ milliseconds: Int) -> ContinuousClock.Instant {
        begin + .milliseconds(milliseconds)
    }

    @Test func aLoneRequestIsSentAtOnce() {
        var machine = Machine()
        let actions = machine.arrived(1, to: "a", size: Self.small, now: Self.begin)
        #expect(actions == [.send([1])])
        #expect(machine.nextInstant == nil)
        #expect(machine.groupEnded(freeing: ["a"], now: Self.begin).isEmpty)
        let next = machine.arrived(2, to: "a", size: Self.small, now: Self.begin)
        #expect(next == [.send([2])])
    }

    @Test func whatComesWhileAGroupIsStoredGoesTogether() {
        var machine = Machine()
        _ = machine.arrived(1, to: "a", size: Self.small, now: Self.begin)
        for (id, session) in [(2, "a"), (3, "b"), (4, "a"), (5, "c")] {
            let actions = machine.arrived(id, to: session, size: Self.small, now: Self.begin)
            #expect(actions.isEmpty)
        }
        let actions = machine.groupEnded(freeing: ["a"], now: Self.after(1))
        #expect(actions == [.send([2, 3, 4, 5])])
    }

    @Test func aSecondGroupBeginsAfterTwoMilliseconds() {
        var machine = Machine()
        _ = machine.arrived(1, to: "a", size: Self.small, now: Self.begin)
        _ = machine.arrived(2, to: "b", size: Self.small, now: Self.after(3))
        _ = machine.arrived(3, to: "c", size: Self.small, now: Self.after(4))
        #expect(machine.nextInstant == Self.after(5))
        #expect(machine.tick(now: Self.after(4)).isEmpty)
        #expect(machine.tick(now: Self.after(5)) == [.send([2, 3])])
        // Two are under way, and a third group has to wait for one of them.
        _ = machine.arrived(4, to: "d", size: Self.small, now: Self.after(6))
        #expect(machine.tick(now: Self.after(100)).isEmpty)
        #expect(machine.groupEnded(freeing: ["a"], now: Self.after(101)) == [.send([4])])
    }

    @Test func aSessionIsInOneGroupAtATime() {
        var machine = Machine()
        _ = machine.arrived(1, to: "a", size: Self.small, now: Self.begin)
        _ = machine.arrived(2, to: "a", size: Self.small, now: Self.begin)
        #expect(machine.tick(now: Self.after(50)).isEmpty)
        // The group is over, and left request 1 to continue alone.
        #expect(machine.groupEnded(freeing: [], now: Self.after(60)).isEmpty)
        let other = machine.arrived(3, to: "b", size: Self.small, now: Self.after(61))
        #expect(other == [.send([3])])
        #expect(machine.sessionEnded("a", now: Self.after(62)) == [.send([2])])
    }

    @Test(arguments: [
        SubmissionSize(taskCount: 100, byteCount: 1), SubmissionSize(taskCount: 1, byteCount: 100),
    ])
    func aFullGroupWaitsForNothing(size: SubmissionSize) {
        var bounds = SubmissionGroupBounds()
        bounds.requestsMax = 50
        bounds.sizeMax = SubmissionSize(taskCount: 300, byteCount: 300)
        var machine = Machine(bounds: bounds)
        _ = machine.arrived(1, to: "a", size: size, now: Self.begin)
        for id in 2...4 {
            let actions = machine.arrived(id, to: "b", size: size, now: Self.begin)
            #expect(actions.isEmpty)
        }
        // The fourth does not fit any more, and the first three need not wait for others.
        let actions = machine.arrived(5, to: "c", size: size, now: Self.begin)
        #expect(actions == [.send([2, 3, 4])])
    }

    @Test func aGroupHasSoManyRequests() {
        var bounds = SubmissionGroupBounds()
        bounds.requestsMax = 2
        var machine = Machine(bounds: bounds)
        _ = machine.arrived(1, to: "a", size: Self.small, now: Self.begin)
        #expect(machine.arrived(2, to: "b", size: Self.small, now: Self.begin).isEmpty)
        let actions = machine.arrived(3, to: "b", size: Self.small, now: Self.begin)
        #expect(actions == [.send([2, 3])])
    }

    @Test func whoWaitsIsBounded() {
        var bounds = SubmissionGroupBounds()
        bounds.waitingMax = 2
        var machine = Machine(bounds: bounds)
        for id in 1...3 { _ = machine.arrived(id, to: "a", size: Self.small, now: Self.after(id)) }
        let refused = machine.arrived(4, to: "a", size: Self.small, now: Self.after(4))
        #expect(refused == [.refuse(4, .exhausted)])
        #expect(machine.nextInstant == Self.after(5002))
        #expect(machine.tick(now: Self.after(5002)) == [.refuse(2, .exhausted)])
        #expect(machine.waitingCount == 1)
    }

    @Test func aTickThatComesFarTooLateSendsNothing() {
        var machine = Machine()
        _ = machine.arrived(1, to: "a", size: Self.small, now: Self.begin)
        _ = machine.arrived(2, to: "b", size: Self.small, now: Self.begin)
        #expect(machine.tick(now: Self.after(6000)) == [.refuse(2, .exhausted)])
        #expect(machine.nextInstant == nil)
    }

    @Test func aCallerThatGoesAwayLeavesTheOthers() {
        var machine = Machine()
        for id in 1...3 { _ = machine.arrived(id, to: "a", size: Self.small, now: Self.begin) }
        #expect(machine.cancel(2) == [.refuse(2, .cancelled)])
        #expect(machine.cancel(2).isEmpty)
        // It was sent, and is stored whether or not anybody waits for it.
        #expect(machine.cancel(1).isEmpty)
        #expect(machine.groupEnded(freeing: ["a"], now: Self.begin) == [.send([3])])
    }

    @Test(arguments: 0..<50)
    func everyRequestIsSentOrRefusedOnceWhateverHappens(seed: UInt64) {
        var simulation = Simulation(seed: seed)
        for _ in 0..<2000 { simulation.step() }
        simulation.finish()
        #expect(simulation.faults.isEmpty)
    }
}

/// Callers, a database and a clock around the machine, all of them erratic.
private struct Simulation: ~Copyable {
    private struct Request {
        let session: String
        let size: SubmissionSize
        let arrival: ContinuousClock.Instant
    }

    private(set) var faults: [String] = []
    private let bounds: SubmissionGroupBounds
    private var machine: SubmissionBatcher<String>
    private var generator: SeededGenerator
    private var now = ContinuousClock.now
    private var count = 0
    private var waiting: [Int: Request] = [:]
    /// The sessions of each group under way.
    private var groups: [Set<String>] = []
    /// The sessions whose requests continue alone.
    private var left: Set<String> = []
    private var lastSent: [String: Int] = [:]

    init(seed: UInt64) {
        generator = SeededGenerator(state: seed)
        var bounds = SubmissionGroupBounds()
        bounds.requestsMax = 8
        bounds.sizeMax = SubmissionSize(taskCount: 40, byteCount: 1000)
        bounds.requestSizeMax = SubmissionSize(taskCount: 10, byteCount: 300)
        bounds.groupsMax = Int.random(in: 1...4, using: &generator)
        bounds.waitingMax = 30
        self.bounds = bounds
        machine = SubmissionBatcher(bounds: bounds)
    }

    mutating func step() {
        now += .microseconds(Int.random(in: 0...1500, using: &generator))
        if let instant = machine.nextInstant, instant <= now { take(machine.tick(now: now)) }
        switch Int.random(in: 0..<10, using: &generator) {
        case 0..<6: arrive()
        case 6..<8: endGroup()
        case 8: endSession()
        default: cancel()
        }
        check()
    }

    mutating func finish() {
        for _ in 0..<10_000 where !waiting.isEmpty || !groups.isEmpty {
            endGroup()
            endSession()
            check()
        }
        if !waiting.isEmpty { faults.append("\(waiting.count) requests wait for ever") }
    }

    private mutating func arrive() {
        count += 1
        let request = Request(
            session: "\(Int.random(in: 0..<6, using: &generator))",
            size: SubmissionSize(
                taskCount: Int.random(in: 1...10, using: &generator),
                byteCount: Int.random(in: 1...300, using: &generator)
            ),
            arrival: now
        )
        waiting[count] = request
        take(machine.arrived(count, to: request.session, size: request.size, now: now))
    }

    private mutating func endGroup() {
        guard let index = groups.indices.randomElement(using: &generator) else { return }
        let sessions = groups.remove(at: index)
        let leftOver = sessions.filter { _ in Int.random(in: 0..<4, using: &generator) == 0 }
        left.formUnion(leftOver)
        take(machine.groupEnded(freeing: sessions.subtracting(leftOver), now: now))
    }

    private mutating func endSession() {
        guard let session = left.sorted().randomElement(using: &generator) else { return }
        left.remove(session)
        take(machine.sessionEnded(session, now: now))
    }

    private mutating func cancel() {
        guard count > 0 else { return }
        take(machine.cancel(Int.random(in: 1...count, using: &generator)))
    }

    private mutating func take(_ actions: [SubmissionBatcher<String>.Action]) {
        for action in actions {
            switch action {
            case .refuse(let id, _):
                if waiting.removeValue(forKey: id) == nil { faults.append("\(id) refused twice") }
            case .send(let ids):
                send(ids)
            }
        }
    }

    private mutating func send(_ ids: [Int]) {
        var size = SubmissionSize(taskCount: 0, byteCount: 0)
        var sessions: Set<String> = []
        for id in ids {
            guard let request = waiting.removeValue(forKey: id) else {
                faults.append("\(id) sent twice")
                continue
            }
            size += request.size
            sessions.insert(request.session)
            if lastSent[request.session, default: 0] > id { faults.append("\(id) overtaken") }
            lastSent[request.session] = id
        }
        if ids.isEmpty || !bounds.hold(requestCount: ids.count, size) {
            faults.append("a group of \(ids.count) with \(size)")
        }
        if groups.contains(where: { !$0.isDisjoint(with: sessions) })
            || !left.isDisjoint(with: sessions)
        {
            faults.append("a session is in two groups")
        }
        groups.append(sessions)
        if groups.count > bounds.groupsMax { faults.append("\(groups.count) groups") }
    }

    /// Checks that no request waits that could go, and that a timer is set when it is needed.
    private mutating func check() {
        if machine.waitingCount != waiting.count { faults.append("lost count") }
        let busy = groups.reduce(left) { $0.union($1) }
        let ready = waiting.values.filter { !busy.contains($0.session) }
        guard groups.count < bounds.groupsMax, let oldest = ready.map(\.arrival).min() else {
            return
        }
        if groups.isEmpty { faults.append("an idle database, and somebody waits") }
        if let instant = machine.nextInstant, instant <= oldest + bounds.gatherMax { return }
        faults.append("nobody looks after those who wait")
    }
}
