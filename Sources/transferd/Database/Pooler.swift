/// What the database's URL leads to.
enum Pooler: String, CaseIterable {
    /// PostgreSQL itself, or a pooler that keeps a session for each connection.
    case none
    /// A pooler that gives out sessions by the transaction, as pgbouncer does with
    /// `pool_mode = transaction`.
    case transaction
}
