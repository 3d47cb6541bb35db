/// One part of all hosts, leased by one worker at a time, within which host caps are counted.
package struct Shard: Hashable, Comparable, Sendable {
    /// The number of shards: more than the instances anybody runs, few enough to check every
    /// second.
    package static let count = 64
    /// Every shard, in ascending order.
    package static let all = (0..<count).map { Shard(number: $0) }
    /// The number of low bits of a host's key that say nothing about its shard.
    package static let hostKeyBits: Int32 = 58

    /// The shard's number, in 0..<``count``.
    package let number: Int

    package init(number: Int) {
        precondition((0..<Self.count).contains(number), "no such shard")
        self.number = number
    }

    /// The shard's hosts, which are contiguous.
    package var hostKeys: ClosedRange<Int64> {
        let first = Int64(number - Self.count / 2) << Int64(Self.hostKeyBits)
        return first...(first | (1 << Int64(Self.hostKeyBits) - 1))
    }

    package static func < (left: Shard, right: Shard) -> Bool { left.number < right.number }
}

extension HostKey {
    /// The shard in which the host's tasks are claimed.
    package var shard: Shard {
        Shard(number: Int(rawValue >> Int64(Shard.hostKeyBits)) + Shard.count / 2)
    }
}

extension Set<Shard> {
    /// The hosts of the shards in ascending order, with adjacent ranges merged.
    package var hostKeys: [ClosedRange<Int64>] {
        sorted().reduce(into: []) { ranges, shard in
            if let last = ranges.last, last.upperBound == shard.hostKeys.lowerBound - 1 {
                ranges[ranges.count - 1] = last.lowerBound...shard.hostKeys.upperBound
            } else {
                ranges.append(shard.hostKeys)
            }
        }
    }
}
