import Postgres
import TransferStore

/// A failure of the database as a command tells it: in the words of the server or of libpq, which
/// contain no values and no secrets.
struct DatabaseFailure: Error, CustomStringConvertible {
    let description: String

    /// Reads what a command threw; nil for another error.
    init?(_ error: any Error) {
        guard error is PostgresError || error is StoreError else { return nil }
        description = String(reflecting: error)
    }
}
