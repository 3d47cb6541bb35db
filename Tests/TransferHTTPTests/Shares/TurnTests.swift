import Foundation
import NIOCore
import NIOPosix
import Synchronization
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferHTTP

@Suite(.postgresSchema, .timeLimit(.minutes(1))) struct TurnTests {
    @Test func ownersTakeTurns() {
        var queue = TurnQueue<String, Int>()
        for number in 1...4 { queue.append(number, of: "many") }
        for number in 11...12 { queue.append(number, of: "few") }
        #expect(Self.all(of: &queue) == [1, 11, 2, 12, 3, 4])
    }

    @Test func whoHadNothingGoesFirst() {
        var queue = TurnQueue<String, Int>()
        for number in 1...3 {
            queue.append(number, of: "first")
            queue.append(10 + number, of: "second")
        }
        _ = queue.popFirst()
        _ = queue.popFirst()
        queue.append(100, of: "newcomer")
        queue.append(101, of: "newcomer")
        #expect(Self.all(of: &queue) == [100, 2, 12, 101, 3, 13])
    }

    /// Whoever comes again and again is in the round, so that those with many still have their
    /// turn.
    @Test func aNewcomerIsNewOnce() {
        var queue = TurnQueue<String, Int>()
        for number in 1...3 { queue.append(number, of: "many") }
        var order: [Int] = []
        for number in 101...103 {
            queue.append(number, of: "again")
            for _ in 0..<2 { if let element = queue.popFirst() { order.append(element) } }
        }
        #expect(order == [1, 101, 2, 102, 3, 103])
    }

    @Test func manyRefusalsInARowAreFutile() {
        let turn = ConnectionTurn(of: nil, in: Self.turns)
        for _ in 0..<2 {
            for _ in 0..<ConnectionTurn.refusalsMax { #expect(!turn.isFutile(after: 400)) }
            #expect(turn.isFutile(after: 404))
            #expect(turn.isFutile(after: 503))
            #expect(!turn.isFutile(after: 200))
        }
    }

    @Test func randomTurnsLoseNothing() {
        var random = SeededGenerator(state: 7)
        for _ in 0..<100 {
            var queue = TurnQueue<Int, Int>()
            var waiting: [Int: [Int]] = [:]
            for number in 0..<200 {
                if Bool.random(using: &random) {
                    let owner = Int.random(in: 0..<5, using: &random)
                    queue.append(number, of: owner)
                    waiting[owner, default: []].append(number)
                } else if let element = queue.popFirst() {
                    let owner = waiting.first { $0.value.first == element }?.key
                    #expect(owner != nil, "\(element) overtook one of its owner")
                    if let owner { waiting[owner]?.removeFirst() }
                } else {
                    #expect(waiting.values.allSatisfy { $0.isEmpty })
                }
            }
            #expect(Self.all(of: &queue).count == waiting.values.reduce(0) { $0 + $1.count })
            #expect(queue.popFirst() == nil)
        }
    }

    private static func all<Owner>(of queue: inout TurnQueue<Owner, Int>) -> [Int] {
        var all: [Int] = []
        while let element = queue.popFirst() { all.append(element) }
        return all
    }

    private static var turns: RequestTurns {
        RequestTurns(on: MultiThreadedEventLoopGroup.singleton.next())
    }

    /// What a quiet tenant does runs before what a loud one has had ready for longer.
    @Test func aQuietTenantWaitsForNoQueue() async throws {
        // Of its own, because it is blocked for a while.
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let turns = RequestTurns(on: group.next())
        let quiet = ConnectionTurn(of: nil, in: turns)
        quiet.owner = .tenant(TenantID(UUID()))
        let loud = ConnectionTurn(of: nil, in: turns)
        loud.owner = .tenant(TenantID(UUID()))
        let order = Shared<[String]>([])
        let gate = DispatchSemaphore(value: 0)
        let isBlocked = Shared(false)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            defer { gate.signal() }
            tasks.addTask(executorPreference: loud) {
                isBlocked.value.withLock { $0 = true }
                gate.wait()
            }
            try await eventually("the loop is busy") { isBlocked.value.withLock { $0 } }
            for _ in 0..<1000 {
                tasks.addTask(executorPreference: loud) {
                    order.value.withLock { $0.append("loud") }
                }
            }
            tasks.addTask(executorPreference: quiet) {
                order.value.withLock { $0.append("quiet") }
            }
        }
        try await group.shutdownGracefully()
        let position = try #require(order.value.withLock { $0.firstIndex(of: "quiet") })
        #expect(position <= 1)
        #expect(order.value.withLock { $0.count } == 1001)
    }

    /// The steps of a request run in its connection's turn, and those behind its key in its
    /// tenant's.
    @Test func aRequestTakesTheTurnOfItsTenant() async throws {
        let turn = ConnectionTurn(of: nil, in: Self.turns)
        await turn.run {
            #expect(ConnectionTurn.current === turn)
            withUnsafeCurrentTask { task in
                #expect(task?.unownedTaskExecutor == turn.asUnownedTaskExecutor())
            }
        }
        try await APIServer.run { server in
            for tenant in [server.first, server.second] {
                let answer = try await server.send("PUT", "/v1/sessions/turns", "{}", as: tenant)
                #expect(answer.status == 201)
                let tasks = #"[{"url": "https://files.example/1"}]"#
                _ = try await server.send("POST", "/v1/sessions/turns/tasks", tasks, as: tenant)
                #expect(server.wakes.latestOwner == .tenant(tenant.id))
            }
        }
    }
}
