/// Which statements a connection has prepared, and under which names.
///
/// A statement may be used by name by others only once the server has confirmed it: the segment
/// that prepares it may be aborted before that, and those sent behind it would fail with it.
struct StatementCache {
    /// What makes two queries the same statement.
    struct Key: Hashable {
        let sql: String
        let types: [PostgresType]
    }

    /// How a query is to be sent.
    enum Use: Equatable {
        /// By this name.
        case named(String)
        /// Under this name, which must be prepared first in the same segment.
        case prepare(String)
        /// Without a name, parsed for this one time.
        case unnamed
    }

    private enum State {
        case preparing(segment: Int)
        case prepared
    }

    private let countMax: Int
    /// Whether the server may still hold statements of names that nobody uses any more.
    private var hasLeftovers = false
    private var entries: [Key: (name: String, state: State)] = [:]
    private var nameCount = 0

    /// - Parameter countMax: how many statements are kept; 0 for none, as poolers may demand.
    init(countMax: Int) { self.countMax = countMax }

    /// Decides for one query of the segment with this number.
    mutating func use(_ key: Key, inSegment segment: Int) -> Use {
        switch entries[key] {
        case (let name, .prepared)?: return .named(name)
        case (let name, .preparing(segment))?: return .named(name)
        case (_, .preparing)?: return .unnamed
        case nil:
            guard entries.count < countMax else { return .unnamed }
            // A name is never given twice: a statement we believe lost may still be there.
            nameCount += 1
            let name = "s\(nameCount)"
            entries[key] = (name, .preparing(segment: segment))
            return .prepare(name)
        }
    }

    /// The server has confirmed the statement of this name.
    mutating func prepared(_ key: Key, as name: String) {
        guard entries[key]?.name == name else { return }
        entries[key] = (name, .prepared)
    }

    /// The statement of this name was not prepared.
    mutating func forget(_ key: Key, as name: String) {
        guard entries[key]?.name == name else { return }
        entries[key] = nil
    }

    /// The statement of this name has gone stale, and what made it so, such as a migration, may have
    /// done so to each: nothing that was prepared is used again.
    mutating func forgetAll(ifUsing name: String, for key: Key) {
        // Of those in flight at that moment each fails, and only the first brings news.
        guard entries[key]?.name == name else { return }
        entries = [:]
        hasLeftovers = true
    }

    /// Whether the server is to drop what it holds before it prepares anything more; true once.
    mutating func takeLeftovers() -> Bool {
        defer { hasLeftovers = false }
        return hasLeftovers
    }
}
