/// Lets keys take turns so that each gets as many bytes as the others, whatever it takes at a time.
///
/// M. Shreedhar and G. Varghese, "Efficient Fair Queuing Using Deficit Round Robin", SIGCOMM 1995.
/// What a transfer costs is known only at its end, so a deficit may go below zero, and is paid off
/// in later rounds.
struct DeficitRoundRobin<Key: Hashable & Sendable>: Sendable {
    /// What a key may spend in a round.
    private let quantum: Int64
    /// In the order of their turns.
    private var keys: [Key] = []
    private var deficits: [Key: Int64] = [:]
    /// Those that take part in this distribution, in the order of their turns.
    private var open: [Key] = []
    private var place = 0

    /// Far from what overflows, and more than any transfer.
    private static var deficitMax: Int64 { 1 << 56 }

    init(quantum: Int64) {
        precondition(quantum > 0, "each round gives something")
        self.quantum = quantum
    }

    /// Adds a key, if it is not there yet, as the last of the round.
    mutating func add(_ key: Key) {
        guard deficits[key] == nil else { return }
        keys.append(key)
        deficits[key] = 0
    }

    /// Removes a key and forgets what it owes.
    mutating func remove(_ key: Key) {
        guard deficits.removeValue(forKey: key) != nil else { return }
        keys.removeAll { $0 == key }
    }

    /// Counts what a key has cost, or with a negative number has not cost after all.
    mutating func charge(_ key: Key, _ bytes: Int64) {
        guard let deficit = deficits[key] else { return }
        let rest = deficit - min(max(bytes, -Self.deficitMax), Self.deficitMax)
        // What was given back is not saved up.
        deficits[key] = min(max(rest, -Self.deficitMax), quantum)
    }

    /// Begins to distribute among those that are `open`; the others get nothing, and save nothing.
    mutating func begin(_ isOpen: (Key) -> Bool) {
        open = keys.filter(isOpen)
        place = 0
    }

    /// Whose turn it is among the open ones.
    mutating func next() -> Key? {
        guard !open.isEmpty else { return nil }
        for offset in 0..<open.count {
            let candidate = (place + offset) % open.count
            guard deficits[open[candidate], default: 0] > 0 else { continue }
            place = candidate
            return open[candidate]
        }
        // A new round, or as many as it takes until one has something to spend.
        let least = open.reduce(-Self.deficitMax) { max($0, deficits[$1, default: 0]) }
        let rounds = -least / quantum + 1
        for key in open { deficits[key, default: 0] += rounds * quantum }
        place = (place + 1) % open.count
        return next()
    }

    /// Takes a key out of this distribution.
    mutating func close(_ key: Key) {
        guard let index = open.firstIndex(of: key) else { return }
        open.remove(at: index)
        if index < place { place -= 1 }
        if place >= open.count { place = 0 }
    }

    /// Ends the distribution; the next one begins with whose turn it would be.
    mutating func end() {
        defer { open = [] }
        guard !open.isEmpty, let first = keys.firstIndex(of: open[place]) else { return }
        keys = Array(keys[first...] + keys[..<first])
    }
}
