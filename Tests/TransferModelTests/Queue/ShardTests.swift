import Testing
import TransferModel
import TransferTestSupport

@Suite struct ShardTests {
    @Test func shardsDivideAllLanes() {
        #expect(Shard.all.count == Shard.count)
        #expect(Shard.all.first?.lanes.lowerBound == .min)
        #expect(Shard.all.last?.lanes.upperBound == .max)
        for (shard, next) in zip(Shard.all, Shard.all.dropFirst()) {
            #expect(shard.lanes.upperBound + 1 == next.lanes.lowerBound)
        }
        var generator = SeededGenerator(state: 1)
        for _ in 0..<1000 {
            let lane = Lane(key: .random(in: .min ... .max, using: &generator))
            #expect(lane.shard.lanes.contains(lane.key))
        }
    }

    @Test func neighboursAreOneRange() {
        #expect(Set(Shard.all).lanes == [.min ... .max])
        #expect(Set<Shard>().lanes.isEmpty)
        let some: Set<Shard> = [
            Shard(number: 3), Shard(number: 1), Shard(number: 2), Shard(number: 9),
        ]
        #expect(
            some.lanes == [
                Shard(number: 1).lanes.lowerBound...Shard(number: 3).lanes.upperBound,
                Shard(number: 9).lanes,
            ]
        )
    }

    @Test func hostsAreSpread() {
        let shards = (0..<6400).map { Lane(host: "host\($0).example", port: 443).shard }
        let counts = Dictionary(grouping: shards, by: \.self).mapValues(\.count)
        #expect(counts.count == Shard.count)
        #expect(counts.values.allSatisfy { (40...180).contains($0) })
    }
}
