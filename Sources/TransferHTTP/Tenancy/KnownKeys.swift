import TransferModel

/// The keys that have been good, by their identifiers: a bounded number, which tenants share.
///
/// A key stays after the time for which its holder is believed, so that it is told from one that
/// was made up. Where there is no room, the tenants with the most keys lose those that were looked
/// up longest ago: however many keys a tenant has, they push out none of a tenant with few.
struct KnownKeys {
    struct Entry: Sendable {
        let secretSHA256: [UInt8]
        let tenant: TenantID
        /// The holder that the last look-up has found; nil before there was one.
        let caller: Caller?
        /// The time until which the holder is believed.
        let until: ContinuousClock.Instant
    }

    private let countMax: Int
    private var entries: [String: Entry] = [:]

    init(countMax: Int) { self.countMax = countMax }

    subscript(id: String) -> Entry? { entries[id] }

    mutating func remember(_ entry: Entry, as id: String) {
        if entries[id] == nil, entries.count >= countMax { makeRoom() }
        entries[id] = entry
    }

    mutating func forget(_ id: String) { entries[id] = nil }

    /// Forgets a quarter of the keys, so that not each new one has to search for some.
    private mutating func makeRoom() {
        let ids = Array(entries.keys)
        let tenants = entries.values.map(\.tenant)
        // Numbers are sorted rather than entries: every request waits meanwhile.
        let newestFirst = entries.values.enumerated()
            .map { place, entry in (place: place, until: entry.until) }
            .sorted { $0.until > $1.until }
        var counts: [TenantID: Int] = [:]
        let ranked = newestFirst.enumerated().map { age, key in
            let newerCount = counts[tenants[key.place], default: 0]
            counts[tenants[key.place]] = newerCount + 1
            return (place: key.place, newerCount: newerCount, age: age)
        }
        // What has the most newer ones of its own tenant beside it goes first.
        let order = ranked.sorted { ($0.newerCount, $0.age) > ($1.newerCount, $1.age) }
        for key in order.prefix(max(1, countMax / 4)) { entries[ids[key.place]] = nil }
    }
}
