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

    /// The server has confirmed the statement.
    mutating func prepared(_ key: Key) {
        guard let name = entries[key]?.name else { return }
        entries[key] = (name, .prepared)
    }

    /// The statement was not prepared, or is of no use any more.
    mutating func forget(_ key: Key) { entries[key] = nil }
}
