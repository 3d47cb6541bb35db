import Postgres

/// The names of the keys that have sealed something in the database.
package struct SecretsKeyStore: Sendable {
    let database: Database

    package init(_ database: Database) { self.database = database }
}

extension SecretsKeyStore {
    /// Records that `sealing` seals from now on, unless a key is missing.
    ///
    /// - Parameters:
    ///   - sealing: the name of the key that seals; nil without one.
    ///   - known: the names of all keys that open.
    /// - Returns: the names of keys that may have sealed something and are not known; nothing was
    ///   recorded if there are any.
    /// - Throws: ``StoreError`` when the database does not answer.
    package func use(
        _ sealing: [UInt8]?,
        among known: [[UInt8]]
    ) async throws(StoreError) -> [[UInt8]] {
        let missing = try await database.run(
            "SELECT name FROM secrets_key WHERE name <> ALL (\(known)) ORDER BY first_used_at, name"
        ).map { row throws(StoreError) in try row.decode("name", as: [UInt8].self) }
        guard missing.isEmpty, let sealing else { return missing }
        try await renewUse(of: sealing)
        return []
    }

    /// Records that this instance still seals with a key, so that nobody forgets it.
    package func renewUse(of sealing: [UInt8]) async throws(StoreError) {
        // Lost only together with the database's uptime, and repeated.
        _ = try await database.run(
            [.unsynced],
            """
            INSERT INTO secrets_key (name) VALUES (\(sealing))
            ON CONFLICT (name) DO UPDATE SET used_at = clock_timestamp()
            """
        )
    }
}
