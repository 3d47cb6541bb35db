/// One part of all lanes, leased by one worker at a time, within which host caps are counted.
package struct Shard: Hashable, Comparable, Sendable {
    /// The number of shards: more than the instances anybody runs, few enough to check every
    /// second.
    package static let count = 64
    /// Every shard, in ascending order.
    package static let all = (0..<count).map { Shard(number: $0) }
    /// The number of low bits of a lane's key that say nothing about its shard.
    package static let laneBits: Int32 = 58

    /// The shard's number, in 0..<``count``.
    package let number: Int

    package init(number: Int) {
        precondition((0..<Self.count).contains(number), "no such shard")
        self.number = number
    }

    /// The shard's lanes, which are contiguous.
    package var lanes: ClosedRange<Int64> {
        let first = Int64(number - Self.count / 2) << Int64(Self.laneBits)
        return first...(first | (1 << Int64(Self.laneBits) - 1))
    }

    package static func < (left: Shard, right: Shard) -> Bool { left.number < right.number }
}

extension Lane {
    /// The shard in which the lane's tasks are claimed.
    package var shard: Shard {
        Shard(number: Int(key >> Int64(Shard.laneBits)) + Shard.count / 2)
    }
}

extension Set<Shard> {
    /// The lanes of the shards in ascending order, with adjacent ranges merged.
    package var lanes: [ClosedRange<Int64>] {
        sorted().reduce(into: []) { ranges, shard in
            if let last = ranges.last, last.upperBound == shard.lanes.lowerBound - 1 {
                ranges[ranges.count - 1] = last.lowerBound...shard.lanes.upperBound
            } else {
                ranges.append(shard.lanes)
            }
        }
    }
}
