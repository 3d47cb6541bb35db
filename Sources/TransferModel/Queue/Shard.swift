/// One part of all lanes, leased by one worker at a time: what caps of hosts are counted by.
package struct Shard: Hashable, Comparable, Sendable {
    /// How many there are; more than instances anybody runs, few enough to be looked at every
    /// second.
    package static let count = 64
    package static let all = (0..<count).map { Shard(number: $0) }
    /// How many bits of a lane's key, the low ones, say nothing of its shard.
    package static let laneBits: Int32 = 58

    /// 0..<``count``.
    package let number: Int

    package init(number: Int) {
        precondition((0..<Self.count).contains(number), "no such shard")
        self.number = number
    }

    /// Its lanes, which follow one another.
    package var lanes: ClosedRange<Int64> {
        let first = Int64(number - Self.count / 2) << Int64(Self.laneBits)
        return first...(first | (1 << Int64(Self.laneBits) - 1))
    }

    package static func < (left: Shard, right: Shard) -> Bool { left.number < right.number }
}

extension Lane {
    /// Where its tasks are claimed.
    package var shard: Shard {
        Shard(number: Int(key >> Int64(Shard.laneBits)) + Shard.count / 2)
    }
}

extension Set<Shard> {
    /// Their lanes, in order, those of neighbours as one range.
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
