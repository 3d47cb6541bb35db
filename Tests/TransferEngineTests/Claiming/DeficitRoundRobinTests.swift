import Testing
import TransferTestSupport

@testable import TransferEngine

@Suite struct DeficitRoundRobinTests {
    private func served(
        _ round: inout DeficitRoundRobin<String>,
        _ count: Int,
        costs: [String: Int64],
        open: Set<String>? = nil
    ) -> [String] {
        round.begin { open?.contains($0) ?? true }
        defer { round.end() }
        return (0..<count).compactMap { _ in
            guard let key = round.next() else { return nil }
            round.charge(key, costs[key] ?? 0)
            return key
        }
    }

    @Test func equalsTakeTurns() {
        var round = DeficitRoundRobin<String>(quantum: 10)
        for key in ["a", "b", "c"] { round.add(key) }
        let costs: [String: Int64] = ["a": 10, "b": 10, "c": 10]
        let order = served(&round, 6, costs: costs)
        #expect(Set(order.prefix(3)) == ["a", "b", "c"])
        #expect(Array(order.prefix(3)) == Array(order.suffix(3)))
        // It continues at its previous position, whether or not it is one distribution.
        #expect(
            served(&round, 1, costs: costs) + served(&round, 2, costs: costs) == order.suffix(3)
        )
    }

    @Test func bytesCountAndNotTurns() {
        var round = DeficitRoundRobin<String>(quantum: 10)
        for key in ["small", "large"] { round.add(key) }
        let order = served(&round, 110, costs: ["small": 1, "large": 100])
        #expect((1...2).contains(order.count { $0 == "large" }))
    }

    @Test func whoeverIsAloneGetsEverything() {
        var round = DeficitRoundRobin<String>(quantum: 1)
        for key in ["a", "b"] { round.add(key) }
        #expect(served(&round, 50, costs: ["a": 1 << 40], open: ["a"]).count == 50)
        // Service used while nobody else was there is paid off all the same.
        let order = served(&round, 100, costs: ["a": 1, "b": 1])
        #expect(order.allSatisfy { $0 == "b" })
        round.remove("a")
        round.add("a")
        #expect(served(&round, 4, costs: ["a": 1, "b": 1]).contains("a"))
    }

    @Test func nothingIsSavedUp() {
        var round = DeficitRoundRobin<String>(quantum: 10)
        for key in ["a", "b"] { round.add(key) }
        _ = served(&round, 1000, costs: ["a": 10], open: ["a"])
        round.charge("b", -1_000_000)
        // It has its next turn, and not all the turns that it would have had.
        #expect(served(&round, 4, costs: ["a": 10, "b": 10]).count { $0 == "b" } == 2)
    }

    @Test func closedOnesAreLeftOut() {
        var round = DeficitRoundRobin<String>(quantum: 1)
        for key in ["a", "b", "c"] { round.add(key) }
        round.begin { _ in true }
        let first = round.next()
        if let first { round.close(first) }
        #expect(round.next() != first)
        for key in ["a", "b", "c"] { round.close(key) }
        #expect(round.next() == nil)
        round.end()
    }

    /// Whatever the costs and whoever has items: over a long time, all flows that always have items
    /// get the same, within one round and one item.
    @Test(arguments: 0..<200 as Range<UInt64>)
    func isFair(seed: UInt64) {
        var generator = SeededGenerator(state: seed)
        let quantum = Int64.random(in: 1...1000, using: &generator)
        let costMax = Int64.random(in: 1...5000, using: &generator)
        var round = DeficitRoundRobin<Int>(quantum: quantum)
        let keys = 0..<Int.random(in: 2...6, using: &generator)
        for key in keys { round.add(key) }
        var used: [Int: Int64] = [:]
        for _ in 0..<200 {
            // The last one has items only now and then.
            let isLastOpen = Bool.random(using: &generator)
            round.begin { $0 < keys.upperBound - 1 || isLastOpen }
            for _ in 0..<Int.random(in: 1...20, using: &generator) {
                guard let key = round.next() else { break }
                let cost = Int64.random(in: 1...costMax, using: &generator)
                round.charge(key, cost)
                used[key, default: 0] += cost
            }
            round.end()
        }
        let constant = keys.dropLast().map { used[$0, default: 0] }
        #expect((constant.max() ?? 0) - (constant.min() ?? 0) <= 2 * (quantum + costMax))
        #expect(used[keys.upperBound - 1, default: 0] <= (constant.max() ?? 0) + quantum + costMax)
    }
}
