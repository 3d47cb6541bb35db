/// A round of keys that take turns so that each gets as many bytes as the others, whatever it takes
/// at a time.
///
/// M. Shreedhar and G. Varghese, "Efficient Fair Queuing Using Deficit Round Robin", SIGCOMM 1995.
/// The cost of a transfer is known only at its end, so a deficit may fall below zero; it is then
/// paid off in later rounds.
struct DeficitRoundRobin<Key: Hashable & Sendable>: Sendable {
    /// The bytes that a key may spend in a round.
    private let quantum: Int64
    /// The keys, in the order of their turns.
    private var keys: [Key] = []
    private var deficits: [Key: Int64] = [:]
    /// The keys that take part in this distribution, in the order of their turns.
    private var open: [Key] = []
    private var place = 0

    /// The largest deficit, far from overflow and more than any transfer.
    private static var deficitMax: Int64 { 1 << 56 }

    init(quantum: Int64) {
        precondition(quantum > 0, "each round gives something")
        self.quantum = quantum
    }

    /// Adds a key as the last of the round, if it is not there yet.
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

    /// Charges a key for what it has cost; a negative number is a refund.
    mutating func charge(_ key: Key, _ bytes: Int64) {
        guard let deficit = deficits[key] else { return }
        let rest = deficit - min(max(bytes, -Self.deficitMax), Self.deficitMax)
        // Refunds are not saved up.
        deficits[key] = min(max(rest, -Self.deficitMax), quantum)
    }

    /// Starts a distribution among those that are `open`; the others get nothing and save nothing.
    mutating func begin(_ isOpen: (Key) -> Bool) {
        open = keys.filter(isOpen)
        place = 0
    }

    /// Returns the open key whose turn it is.
    mutating func next() -> Key? {
        guard !open.isEmpty else { return nil }
        for offset in 0..<open.count {
            let candidate = (place + offset) % open.count
            guard deficits[open[candidate], default: 0] > 0 else { continue }
            place = candidate
            return open[candidate]
        }
        // A new round, or as many rounds as it takes until a key has something to spend.
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

    /// Ends the distribution; the next one starts with the key whose turn it would be.
    mutating func end() {
        defer { open = [] }
        guard !open.isEmpty, let first = keys.firstIndex(of: open[place]) else { return }
        keys = Array(keys[first...] + keys[..<first])
    }
}
