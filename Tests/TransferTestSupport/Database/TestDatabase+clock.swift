package import Postgres

extension TestDatabase {
    /// Makes a pool on which the clock of the database is an hour ahead of that of this process; it
    /// is closed after the test.
    ///
    /// The defaults of columns, and everything that is not done through it, go by the real clock.
    package func poolAnHourAhead() async throws -> ConnectionPool {
        let definer = try await connection()
        _ = try await definer.execute(
            """
            CREATE FUNCTION now() RETURNS timestamptz LANGUAGE sql STABLE
            AS 'SELECT pg_catalog.now() + interval ''1 hour'''
            """
        )
        _ = try await definer.execute(
            """
            CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
            AS 'SELECT pg_catalog.clock_timestamp() + interval ''1 hour'''
            """
        )
        // Unless it is named last, what PostgreSQL defines itself comes first.
        return pool { $0.searchPath = $0.searchPath.map { "\($0), pg_catalog" } }
    }
}
