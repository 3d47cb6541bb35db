import Postgres
package import TransferStore

/// A store on one connection, set as the service's are, that tells how much PostgreSQL reads.
///
/// Whatever it does is undone: every measurement finds the database as the one before. Plans are
/// kept, each as it was made the first time.
package struct PageMeter: Sendable {
    package let stores: Stores
    private let pool: ConnectionPool

    /// More than the verbs of a store have statements, so that none is planned anew.
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
            WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
            """
        )
        try await connection.executeScript(rows[0].decode("script"))
    }

    /// How many pages of tables and indexes are read by `body`, those counted each time that are
    /// read several times.
    package func pages(_ body: (Stores) async throws -> Void) async throws -> Int64 {
        try await pagesOfRelations(body).values.reduce(0, +)
    }

    /// The same of each table and index of which any is read.
    package func pagesOfRelations(
        _ body: (Stores) async throws -> Void
    ) async throws -> [String: Int64] {
        // In one transaction, as what PostgreSQL counts of it goes with its end.
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
            FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace
                AND pg_stat_get_xact_blocks_fetched(c.oid) > 0
            """
        )
        return try rows.reduce(into: [:]) { counts, row in
            counts[try row.decode("relname", as: String.self)] = try row.decode("count")
        }
    }
}
