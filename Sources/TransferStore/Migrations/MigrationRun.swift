import Logging
import Postgres

/// One migration on its way into a schema or out of it.
///
/// A statement that waits for a table holds up all that come to that table after it. So it waits
/// briefly, and the service gets on before the next try.
struct MigrationRun {
    /// The longest wait for a lock.
    static let lockTimeout: Duration = .seconds(2)
    /// The pause between two tries.
    private static let pause: Duration = .seconds(4)
    /// The number of tries, which take ten minutes.
    private static let triesMax = 100
    /// The number of lock holders that the log names.
    private static let holdersMax: Int64 = 5
    /// The SQLSTATE of a lock that was not had in time.
    private static let lockNotHad = "55P03"

    let name: String
    let connection: Connection
    let logger: Logger

    /// Runs the statements of `script` as one transaction.
    ///
    /// - Throws: ``MigratorError/failed(_:_:)``, or the errors of the database.
    func run(_ script: String) async throws {
        var tries = 1
        while true {
            do throws(PostgresError) {
                return try await transaction(script)
            } catch  where error.sqlState == Self.lockNotHad && tries < Self.triesMax {
                tries += 1
            } catch {
                throw MigratorError.failed(name, error)
            }
            // Only to be told: the next try meets what is wrong with the connection.
            try? await logHolders()
            try await Task.sleep(for: Self.pause)
        }
    }

    private func transaction(_ script: String) async throws(PostgresError) {
        do throws(PostgresError) {
            try await connection.executeScript("BEGIN;\n\(script);\nCOMMIT")
        } catch {
            // Without a connection nothing is left to undo, and the first error says more.
            try? await connection.executeScript("ROLLBACK")
            throw error
        }
    }

    /// Logs who has locks on tables of the schema, the oldest transaction first.
    private func logHolders() async throws {
        let rows = try await connection.execute(
            """
            SELECT a.pid, coalesce(a.application_name, '') AS name,
                coalesce(extract(epoch FROM clock_timestamp() - a.xact_start), 0)::bigint AS seconds
            FROM pg_stat_activity a
            WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND EXISTS (
                SELECT 1 FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
                WHERE l.pid = a.pid AND l.granted AND c.relkind IN ('r', 'p')
                    AND c.relnamespace = quote_ident(current_schema())::regnamespace)
            ORDER BY a.xact_start LIMIT \(Self.holdersMax)
            """
        )
        let holders = try rows.map { row in
            "\(try row.decode("pid", as: Int32.self)) \(try row.decode("name", as: String.self)), "
                + "\(try row.decode("seconds", as: Int64.self)) s"
        }
        logger.warning(
            "a migration waits for the locks of others",
            metadata: ["migration": "\(name)", "holders": "\(holders.joined(separator: "; "))"]
        )
    }
}
