/// An operation that cannot be done through a pooler, and was not done otherwise.
enum PoolerError: Error, CustomStringConvertible {
    /// The schema does not have this program's version.
    case migrationsMissing(count: Int)
    /// A lock would have to be held over many transactions.
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
