/// The kinds of server that the database's URL may lead to.
enum Pooler: String, CaseIterable {
    /// PostgreSQL itself, or a pooler that keeps a session for each connection.
    case none
    /// A pooler that assigns sessions by the transaction, as pgbouncer does with
    /// `pool_mode = transaction`.
    case transaction
}
