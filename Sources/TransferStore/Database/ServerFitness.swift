package import Postgres

/// What a server is asked before it is used.
package enum ServerFitness {
    /// A setting that makes sessions read-only.
    package struct ReadOnlySetting: Sendable {
        /// The role of the session.
        package let role: String
        /// Where the setting was made, as the view `pg_settings` says.
        package let source: String
    }

    /// Returns when a commit has ended that leaves nothing.
    ///
    /// It waits for the disk, and for standbys where the server says so.
    package static func commit(over connection: Connection) async throws(PostgresError) {
        // Of what makes a commit wait, this alone needs no table.
        _ = try await connection.execute(
            "SELECT pg_logical_emit_message(true, 'transferd doctor', '')::text AS position"
        )
    }

    /// Returns why sessions are read-only; nil if they are not, or for another reason than a
    /// setting.
    package static func readOnlySetting(
        over connection: Connection
    ) async throws(PostgresError) -> ReadOnlySetting? {
        let rows = try await connection.execute(
            """
            SELECT current_user::text AS role, source FROM pg_settings
            WHERE name = 'default_transaction_read_only' AND setting = 'on'
            """
        )
        guard let row = rows.first else { return nil }
        return ReadOnlySetting(role: try row.decode("role"), source: try row.decode("source"))
    }
}
