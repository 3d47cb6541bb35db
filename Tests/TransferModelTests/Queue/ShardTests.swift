import Testing
import TransferModel
import TransferTestSupport

@Suite struct ShardTests {
    @Test func shardsDivideAllHostKeys() {
        #expect(Shard.all.count == Shard.count)
        #expect(Shard.all.first?.hostKeys.lowerBound == .min)
        #expect(Shard.all.last?.hostKeys.upperBound == .max)
        for (shard, next) in zip(Shard.all, Shard.all.dropFirst()) {
            #expect(shard.hostKeys.upperBound + 1 == next.hostKeys.lowerBound)
        }
        var generator = SeededGenerator(state: 1)
        for _ in 0..<1000 {
            let hostKey = HostKey(rawValue: .random(in: .min ... .max, using: &generator))
            #expect(hostKey.shard.hostKeys.contains(hostKey.rawValue))
        }
    }

    @Test func neighboursAreOneRange() {
        #expect(Set(Shard.all).hostKeys == [.min ... .max])
        #expect(Set<Shard>().hostKeys.isEmpty)
        let some: Set<Shard> = [
            Shard(number: 3), Shard(number: 1), Shard(number: 2), Shard(number: 9),
        ]
        #expect(
            some.hostKeys == [
                Shard(number: 1).hostKeys.lowerBound...Shard(number: 3).hostKeys.upperBound,
                Shard(number: 9).hostKeys,
            ]
        )
    }

    @Test func hostsAreSpread() {
        let shards = (0..<6400).map { HostKey(host: "host\($0).example", port: 443).shard }
        let counts = Dictionary(grouping: shards, by: \.self).mapValues(\.count)
        #expect(counts.count == Shard.count)
        #expect(counts.values.allSatisfy { (40...180).contains($0) })
    }
}
