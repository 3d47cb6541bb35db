import TransferModel

/// How many connections there are, in all and to each host, and which attempts have more than
/// they must; decides, and does nothing itself.
struct ConnectionSlots {
    /// What one attempt has taken beyond its first connection.
    private struct Extra {
        let lane: Lane
        var count = 0
        /// How many of them it was asked to give up.
        var wanted = 0
    }

    private let max: Int
    private let perLane: Int
    private var total = 0
    private var open: [Lane: Int] = [:]
    private var extras: [Fence: Extra] = [:]

    /// Allows so many connections, and so many to one host.
    init(max: Int = .max, perLane: Int = .max) {
        self.max = max
        self.perLane = perLane
    }

    private func isFull(_ lane: Lane) -> Bool { open[lane, default: 0] >= perLane }

    /// Whom to ask to give up a connection, so that attempts to these hosts can begin; each once for
    /// each connection, and nobody for what was asked for before.
    mutating func givers(for waiting: [Lane]) -> [Fence] {
        // As it will be when all that was asked for is given up.
        var (total, open) = (total, open)
        for extra in extras.values {
            total -= extra.wanted
            open[extra.lane, default: 0] -= extra.wanted
        }
        var givers: [Fence] = []
        for lane in waiting {
            let isLaneFull = open[lane, default: 0] >= perLane
            if isLaneFull || total >= max, let giver = spare(in: isLaneFull ? lane : nil) {
                extras[giver.fence]?.wanted += 1
                givers.append(giver.fence)
                total -= 1
                open[giver.lane, default: 0] -= 1
            }
            total += 1
            open[lane, default: 0] += 1
        }
        return givers
    }

    /// The attempt with the most connections to spare, to one host or to any.
    private func spare(in lane: Lane?) -> (fence: Fence, lane: Lane)? {
        let most = extras.filter { entry in
            entry.value.count > entry.value.wanted && (lane.map { $0 == entry.value.lane } ?? true)
        }.max { left, right in
            (left.value.count - left.value.wanted, right.key.rawValue)
                < (right.value.count - right.value.wanted, left.key.rawValue)
        }
        return most.map { ($0.key, $0.value.lane) }
    }

    /// Takes the first connection of an attempt.
    ///
    /// - Returns: false when it has to wait for one that somebody can give up.
    mutating func begin(_ lane: Lane) -> Bool {
        if isFull(lane), extras.values.contains(where: { $0.lane == lane }) { return false }
        if total >= max, !extras.isEmpty { return false }
        total += 1
        open[lane, default: 0] += 1
        return true
    }

    /// Takes a further connection of an attempt; false when there is none.
    mutating func takeExtra(_ fence: Fence, _ lane: Lane) -> Bool {
        guard total < max, !isFull(lane), extras.values.allSatisfy({ $0.wanted == 0 }) else {
            return false
        }
        total += 1
        open[lane, default: 0] += 1
        extras[fence, default: Extra(lane: lane)].count += 1
        return true
    }

    /// A further connection of an attempt has ended.
    mutating func returnExtra(_ fence: Fence, _ lane: Lane) {
        guard var extra = extras[fence] else { return }
        extra.count -= 1
        extra.wanted = Swift.max(0, extra.wanted - 1)
        extras[fence] = extra.count > 0 ? extra : nil
        leave(lane, 1)
    }

    /// An attempt has ended, with all that it had.
    mutating func end(_ fence: Fence, _ lane: Lane) {
        leave(lane, 1 + (extras.removeValue(forKey: fence)?.count ?? 0))
    }

    private mutating func leave(_ lane: Lane, _ count: Int) {
        total -= count
        let rest = open[lane, default: 0] - count
        open[lane] = rest > 0 ? rest : nil
    }
}
