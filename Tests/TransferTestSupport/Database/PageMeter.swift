import Postgres
package import TransferStore

/// A store on one connection, set up as the service's are, that reports how much PostgreSQL reads.
///
/// Everything it does is undone, so every measurement finds the database in the same state as the
/// previous one did. Plans are kept, each as it was made the first time.
package struct PageMeter: Sendable {
    /// The stores over the measured connection.
    package let stores: Stores
    private let pool: ConnectionPool

    /// More than the number of statements in a store's verbs, so that none is planned again.
    private static let preparedStatementsMax = 4096

    /// Makes a connection with the service's settings, or with others.
    package init(
        settings: [String: String] = Database.serverSettings,
        stores storeSettings: StoreSettings = StoreSettings()
    ) {
        pool = TestDatabase.current.pool(connectionsMax: 1) {
            $0.serverSettings = settings
            $0.preparedStatementsMax = Self.preparedStatementsMax
        }
        stores = Stores(Database(pool: pool, settings: storeSettings))
    }

    /// Keeps the statistics of all tables as they are.
    package func holdStatistics() async throws {
        let connection = try await TestDatabase.current.connection()
        let rows = try await connection.execute(
            """
            SELECT string_agg(format('ALTER TABLE %I SET (autovacuum_enabled = off)', relname), ';')
                AS script
            FROM pg_class
            WHERE relnamespace = quote_ident(current_schema())::regnamespace AND relkind = 'r'
            """
        )
        try await connection.executeScript(rows[0].decode("script"))
    }

    /// Returns the number of pages of tables and indexes that `body` reads, counting a page each
    /// time that it is read.
    package func pages(_ body: (Stores) async throws -> Void) async throws -> Int64 {
        try await pagesOfRelations(body).values.reduce(0, +)
    }

    /// Returns the same number for each table and index of which any page is read.
    package func pagesOfRelations(
        _ body: (Stores) async throws -> Void
    ) async throws -> [String: Int64] {
        // In one transaction, because PostgreSQL's counts of it disappear when it ends.
        _ = try await pool.execute("BEGIN")
        let outcome: Result<[String: Int64], any Error>
        do {
            let before = try await pagesRead()
            try await body(stores)
            outcome = .success(
                try await pagesRead().merging(before) { $0 - $1 }.filter { $0.value > 0 }
            )
        } catch {
            outcome = .failure(error)
        }
        _ = try await pool.execute("ROLLBACK")
        return try outcome.get()
    }

    private func pagesRead() async throws -> [String: Int64] {
        let rows = try await pool.execute(
            """
            SELECT c.relname, pg_stat_get_xact_blocks_fetched(c.oid) AS count
            FROM pg_class c WHERE c.relnamespace = quote_ident(current_schema())::regnamespace
                AND pg_stat_get_xact_blocks_fetched(c.oid) > 0
            """
        )
        return try rows.reduce(into: [:]) { counts, row in
            counts[try row.decode("relname", as: String.self)] = try row.decode("count")
        }
    }
}
