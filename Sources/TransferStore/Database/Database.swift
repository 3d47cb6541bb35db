package import Postgres
import TransferModel

/// Runs the statements of the stores, which hold everything transferd keeps; only they speak SQL.
///
/// A verb of a store is one statement, or a few in one implicit transaction: it happens as a whole
/// or not at all, and has been committed durably when it returns.
package struct Database: Sendable {
    private let pool: ConnectionPool
    let settings: StoreSettings
    /// Tries of a transaction that the server keeps undoing.
    private static let triesMax = 5

    /// What the connections of the pool have to be told.
    ///
    /// Every statement on a hot path reads by an index. The statistics of a queue are always out of
    /// date, though, and a plan made while a table was almost empty would read all of it later.
    /// Nor may it collect all that it might need before it gives the first of it, as a bitmap does.
    /// For the same reason a plan is made once for each connection and not for each set of values,
    /// which for a claim costs as much as running it.
    ///
    /// Where no plan does without what is switched off, its cost has ten digits: a server that
    /// compiles what is dear, as it does unless told otherwise, would compile each execution.
    package static let serverSettings = [
        "enable_bitmapscan": "off", "enable_seqscan": "off", "jit": "off",
        "plan_cache_mode": "force_generic_plan",
    ]

    package init(pool: ConnectionPool, settings: StoreSettings = StoreSettings()) {
        self.pool = pool
        self.settings = settings
    }

    /// Returns the release of PostgreSQL that answers.
    package func serverVersion() async throws(StoreError) -> String {
        let rows = try await run("SELECT current_setting('server_version') AS version")
        return try rows.first?.decode("version") ?? ""
    }

    func run(_ query: Query) async throws(StoreError) -> StoredRows {
        StoredRows(
            try await repeating { () throws(PostgresError) in try await pool.execute(query) }
        )
    }

    /// Returns the value of each row of a query.
    func fetch<Value: RowDecodable>(
        _ type: Value.Type,
        _ query: Query
    ) async throws(StoreError) -> [Value] {
        try await run(query).map { row throws(StoreError) in try Value(row) }
    }

    /// Returns the value of the first row of a query; nil without rows.
    func fetchFirst<Value: RowDecodable>(
        _ type: Value.Type,
        _ query: Query
    ) async throws(StoreError) -> Value? {
        try await run(query).first.map { row throws(StoreError) in try Value(row) }
    }

    /// Runs `queries` as one transaction.
    func run(_ queries: [Query]) async throws(StoreError) -> [StoredRows] {
        try await repeating { () throws(PostgresError) in try await pool.execute(queries) }
            .map(StoredRows.init)
    }

    /// What holds for one transaction only.
    enum TransactionSetting {
        /// It does not wait for the disk; only for what is harmless to lose in a power cut.
        case unsynced
        /// Its statement is planned for its very values: for batches joined with a table, whose
        /// size a plan for any values guesses at ten.
        case plannedAnew
        /// It waits for a lock no longer than others can wait for it; the rest of its work is found
        /// again or divided.
        case briefLocks

        var query: Query {
            switch self {
            case .unsynced: "SELECT set_config('synchronous_commit', 'off', true)"
            case .briefLocks: "SELECT set_config('lock_timeout', '1s', true)"
            case .plannedAnew: "SELECT set_config('plan_cache_mode', 'force_custom_plan', true)"
            }
        }
    }

    /// Runs `query` in a transaction of its own with `settings`.
    func run(
        _ settings: [TransactionSetting],
        _ query: Query
    ) async throws(StoreError) -> StoredRows {
        try await run(settings.map(\.query) + [query])[settings.count]
    }

    /// Runs a transaction again that the server undid for another one's sake, as a deadlock.
    private func repeating<Result>(
        _ transaction: () async throws(PostgresError) -> Result
    ) async throws(StoreError) -> Result {
        var tries = 1
        while true {
            do throws(PostgresError) {
                return try await transaction()
            } catch  where error.isUndone && tries < Self.triesMax {
                tries += 1
            } catch {
                throw StoreError(error)
            }
        }
    }
}
