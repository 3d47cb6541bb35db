/// What cannot be done through a pooler, and was not done otherwise.
enum PoolerError: Error, CustomStringConvertible {
    /// The schema is not this version's.
    case migrationsMissing(count: Int)
    /// A lock has to be held over many transactions.
    case migrationRefused

    var description: String {
        switch self {
        case .migrationsMissing(let count):
            """
            The database lacks \(count) migrations, which are not applied through a pooler: run \
            `transferd migrate --pooler none` with a --database-url that leads to PostgreSQL itself, or \
            give `serve` one with --listen-database-url.
            """
        case .migrationRefused:
            """
            Migrations are not applied through a pooler: give a --database-url that leads to \
            PostgreSQL itself, and --pooler none.
            """
        }
    }
}
