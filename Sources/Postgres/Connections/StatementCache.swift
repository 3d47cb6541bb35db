/// The statements that a connection has prepared, with their names.
///
/// Other segments may use a statement by name only once the server has confirmed it: the segment
/// that prepares it may be aborted before that, and those sent after it would fail with it.
struct StatementCache {
    /// The properties that make two queries the same statement.
    struct Key: Hashable {
        let text: QueryText
        let types: [PostgresType]
    }

    /// The way in which a query is to be sent.
    enum Use: Equatable {
        /// Under this name, which is already prepared.
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
    /// Whether the server may still hold statements with names that are no longer used.
    private var hasLeftovers = false
    private var entries: [Key: (name: String, state: State)] = [:]
    private var nameCount = 0

    /// - Parameter countMax: how many statements are kept; 0 for none, as poolers may demand.
    init(countMax: Int) { self.countMax = countMax }

    /// Decides how to send a query of the segment with this number.
    mutating func use(_ key: Key, inSegment segment: Int) -> Use {
        switch entries[key] {
        case (let name, .prepared)?: return .named(name)
        case (let name, .preparing(segment))?: return .named(name)
        case (_, .preparing)?: return .unnamed
        case nil:
            guard entries.count < countMax else { return .unnamed }
            // A name is never used twice: a statement that we believe lost may still exist.
            nameCount += 1
            let name = "s\(nameCount)"
            entries[key] = (name, .preparing(segment: segment))
            return .prepare(name)
        }
    }

    /// Records that the server has confirmed the statement with this name.
    mutating func prepared(_ key: Key, as name: String) {
        guard entries[key]?.name == name else { return }
        entries[key] = (name, .prepared)
    }

    /// Records that the statement with this name was not prepared.
    mutating func forget(_ key: Key, as name: String) {
        guard entries[key]?.name == name else { return }
        entries[key] = nil
    }

    /// Forgets all prepared statements, because the one with this name has gone stale.
    ///
    /// The cause, such as a migration, may have affected all of them: none is used again.
    mutating func forgetAll(ifUsing name: String, for key: Key) {
        // All of those in flight at that moment fail, and only the first failure is news.
        guard entries[key]?.name == name else { return }
        entries = [:]
        hasLeftovers = true
    }

    /// Returns whether the server must drop its statements before it prepares more; true once.
    mutating func takeLeftovers() -> Bool {
        defer { hasLeftovers = false }
        return hasLeftovers
    }
}
